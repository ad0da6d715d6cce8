//! What can be wrong with a data set and its files.

use cdimc_data::DataError;
use std::fmt::Display;
use std::path::{Path, PathBuf};

/// The ways a data set can be unusable; every message names the file or the data set.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DatasetError {
    /// Views, labels or masks that do not fit together.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A file that cannot be read, or does not hold what it should.
    #[error("{}: {reason}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A variable that a `.mat` file does not have.
    #[error("{}: no variable {name}: it has {present}", path.display())]
    NoVariable {
        /// The file.
        path: PathBuf,
        /// The variable asked for.
        name: String,
        /// The variables of the file.
        present: String,
    },
    /// A file with another checksum than its manifest says.
    #[error("{}: sha256 = {found}: must be {expected}", path.display())]
    Checksum {
        /// The file.
        path: PathBuf,
        /// The checksum in the manifest.
        expected: String,
        /// The checksum of the file or of its content.
        found: String,
    },
    /// A data set that no manifest describes.
    #[error("no data set {name}: there are {known}")]
    UnknownDataset {
        /// The name asked for.
        name: String,
        /// The names there are.
        known: String,
    },
    /// Files of a data set that are nowhere.
    #[error("data set {dataset} lacks {files} ({folders}); its home is {home}")]
    MissingFiles {
        /// The data set.
        dataset: String,
        /// The missing files.
        files: String,
        /// Where they were looked for.
        folders: String,
        /// The page of the data set.
        home: String,
    },
    /// Files that do not hold what the manifest of their data set says.
    #[error("data set {dataset}: {reason}")]
    Undecodable {
        /// The data set.
        dataset: String,
        /// What does not fit.
        reason: String,
    },
}

impl DatasetError {
    /// The file at `path` cannot be used for this reason.
    pub(crate) fn file(path: &Path, reason: &dyn Display) -> Self {
        Self::File { path: path.to_owned(), reason: reason.to_string() }
    }
}
