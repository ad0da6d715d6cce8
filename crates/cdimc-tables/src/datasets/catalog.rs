//! Lists data sets, finds their files and reports missing ones.

use super::decode::{self, File};
use super::manifest::{Checksum, DataFile, Manifest};
use crate::TableError;
use crate::files::gzip;
use cdimc_data::{Dataset, ViewMask};
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

#[cfg(test)]
mod tests;

/// Manifests that come with the crate.
const MANIFESTS: [(&str, &str); 6] = [
    ("digits.toml", include_str!("../../datasets/digits.toml")),
    ("bdgp.toml", include_str!("../../datasets/bdgp.toml")),
    ("handwritten.toml", include_str!("../../datasets/handwritten.toml")),
    ("handwritten-pair.toml", include_str!("../../datasets/handwritten-pair.toml")),
    ("mnist4000.toml", include_str!("../../datasets/mnist4000.toml")),
    ("mnist70k.toml", include_str!("../../datasets/mnist70k.toml")),
];

/// Files that come with the crate, by path.
const EMBEDDED: [(&str, &[u8]); 1] =
    [("digits/digits.csv.gz", include_bytes!("../../datasets/digits/digits.csv.gz"))];

/// Data sets by name, read from a list of folders.
///
/// Six manifests come with the crate; a `*.toml` in a folder adds one or replaces one of the same name. The files of a
/// data set are in a subfolder of any folder, or for `digits` in the crate. Nothing is downloaded.
///
/// ```
/// use cdimc_tables::datasets::Catalog;
/// let digits = Catalog::new([])?.load("digits")?;
/// assert_eq!((digits.n_samples(), digits.n_views(), digits.n_classes()), (1797, 4, 10));
/// # Ok::<(), cdimc_tables::TableError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Catalog {
    folders: Vec<PathBuf>,
    manifests: BTreeMap<String, Manifest>,
}

impl Catalog {
    /// Returns the catalog of the data sets in `folders`, searched in this order. Folders that do not exist are
    /// skipped.
    ///
    /// # Errors
    /// If a manifest in one of the folders cannot be read.
    pub fn new(folders: impl IntoIterator<Item = PathBuf>) -> Result<Self, TableError> {
        let folders: Vec<PathBuf> = folders.into_iter().collect();
        let mut manifests = BTreeMap::new();
        let mut add = |manifest: Manifest| manifests.insert(manifest.name.clone(), manifest);
        for (path, text) in MANIFESTS {
            add(Manifest::parse(Path::new(path), text)?);
        }
        // Later insertions replace earlier ones, so the first folder comes last.
        for folder in folders.iter().rev() {
            let Ok(entries) = std::fs::read_dir(folder) else { continue };
            let mut paths: Vec<PathBuf> =
                entries.filter_map(|entry| entry.ok().map(|e| e.path())).collect();
            paths.retain(|path| path.extension().is_some_and(|e| e == "toml"));
            paths.sort();
            for path in paths {
                let text = std::fs::read_to_string(&path)
                    .map_err(|e| TableError::new(&path, e.to_string()))?;
                add(Manifest::parse(&path, &text)?);
            }
        }
        Ok(Self { folders, manifests })
    }

    /// Returns the catalog over the folder in the environment variable `CDIMC_DATASETS`, if set, and then `fallback`.
    ///
    /// # Errors
    /// Same as [`Catalog::new`].
    pub fn from_env(fallback: Option<PathBuf>) -> Result<Self, TableError> {
        let set = std::env::var_os("CDIMC_DATASETS").filter(|value| !value.is_empty());
        Self::new(set.map(PathBuf::from).into_iter().chain(fallback))
    }

    /// Returns the folders, in search order.
    pub fn folders(&self) -> &[PathBuf] {
        &self.folders
    }

    /// Returns all manifests, sorted by name.
    pub fn manifests(&self) -> impl Iterator<Item = &Manifest> {
        self.manifests.values()
    }

    /// Returns the manifest of the data set `name`.
    ///
    /// # Errors
    /// If there is none; the message lists the existing ones.
    pub fn manifest(&self, name: &str) -> Result<&Manifest, TableError> {
        self.manifests.get(name).ok_or_else(|| {
            let known = self.manifests.keys().cloned().collect::<Vec<_>>().join(", ");
            format!("no data set {name}: there are {known}").into()
        })
    }

    /// Reads the data set `name` after verifying the checksums of its files.
    ///
    /// # Errors
    /// If there is no such data set, or a file is missing, has a wrong checksum, or does not match the manifest.
    pub fn load(&self, name: &str) -> Result<Dataset, TableError> {
        let manifest = self.manifest(name)?;
        decode::dataset(manifest, &|file| self.open(manifest, file))
    }

    /// Returns the masks published with the data set `name` for the missing rate `rate`, one per fold, or `None`.
    ///
    /// # Errors
    /// Same as [`Catalog::load`].
    pub fn masks(&self, name: &str, rate: f64) -> Result<Option<Vec<ViewMask>>, TableError> {
        let manifest = self.manifest(name)?;
        let source = manifest.masks.iter().find(|masks| (masks.rate - rate).abs() < 1e-9);
        let read = |source| decode::masks(manifest, source, &|file| self.open(manifest, file));
        source.map(read).transpose()
    }

    /// Returns whether every file of the data set `name` exists, without reading it.
    ///
    /// # Errors
    /// If there is no such data set.
    pub fn is_present(&self, name: &str) -> Result<bool, TableError> {
        Ok(self.missing(self.manifest(name)?).is_empty())
    }

    /// Verifies one file of a manifest.
    ///
    /// # Errors
    /// If it is missing, cannot be read or has a wrong checksum.
    pub fn verify(&self, file: &DataFile) -> Result<(), TableError> {
        let missing = || TableError::new(Path::new(&file.path), "is missing".to_owned());
        let (path, bytes) = self.bytes(&file.path)?.ok_or_else(missing)?;
        file.checksum.verify(&path, &bytes)
    }

    /// Returns the location of the file with this path, compressed or not.
    pub fn find(&self, path: &str) -> Option<PathBuf> {
        let plain = path.strip_suffix(".gz");
        let names = || [Some(path), plain].into_iter().flatten();
        let candidates = self.folders.iter().flat_map(|f| names().map(|name| f.join(name)));
        candidates.into_iter().find(|candidate| candidate.is_file())
    }

    /// Returns the files of a data set that are neither in a folder nor in the crate.
    pub fn missing(&self, manifest: &Manifest) -> Vec<String> {
        let there = |path: &str| self.find(path).is_some() || embedded(path).is_some();
        let paths = manifest.files.iter().map(|file| file.path.clone());
        paths.filter(|path| !there(path)).collect()
    }

    /// Returns path and bytes of a file, or `None` if it is missing.
    fn bytes(&self, name: &str) -> Result<Option<File>, TableError> {
        let Some(path) = self.find(name) else {
            return Ok(embedded(name).map(|bytes| (name.into(), Cow::Borrowed(bytes))));
        };
        let bytes = std::fs::read(&path).map_err(|e| TableError::new(&path, e.to_string()))?;
        Ok(Some((path, Cow::Owned(bytes))))
    }

    /// Returns the bytes of a file of `manifest` after verifying its checksum.
    fn open(&self, manifest: &Manifest, name: &str) -> Result<File, TableError> {
        let found = self.bytes(name)?.ok_or_else(|| self.missing_error(manifest))?;
        if let Some(file) = manifest.file(name) {
            file.checksum.verify(&found.0, &found.1)?;
        }
        Ok(found)
    }

    fn missing_error(&self, manifest: &Manifest) -> TableError {
        let folders: Vec<_> = self.folders.iter().map(|f| f.display().to_string()).collect();
        let folders = match &folders[..] {
            [] => "no folder was given".to_owned(),
            folders => format!("looked in {}", folders.join(" and ")),
        };
        let Manifest { name, home, .. } = manifest;
        let files = self.missing(manifest).join(", ");
        format!(
            "data set {name} lacks {files} ({folders}): get them with `cargo xtask datasets fetch {name}`; its home is {home}"
        )
        .into()
    }
}

impl Checksum {
    /// Verifies a file from its bytes; errors call it `path`.
    ///
    /// # Errors
    /// If the checksum differs or the content cannot be uncompressed.
    pub fn verify(&self, path: &Path, bytes: &[u8]) -> Result<(), TableError> {
        let (expected, found) = match self {
            Self::Sha256(expected) => (expected, sha256(bytes)),
            Self::ContentSha256(expected) => (expected, sha256(gzip::content(bytes))),
        };
        let found =
            found.map_err(|e| TableError::new(path, format!("damaged compressed data: {e}")))?;
        if &found == expected {
            return Ok(());
        }
        Err(TableError::new(path, format!("sha256 = {found}: must be {expected}")))
    }
}

/// Returns the SHA-256 of the content of `reader`, in lower-case hexadecimal digits.
///
/// # Errors
/// If it cannot be read to its end.
pub fn sha256(mut reader: impl Read) -> io::Result<String> {
    let mut hash = Sha256::new();
    io::copy(&mut reader, &mut hash)?;
    Ok(format!("{:x}", hash.finalize()))
}

fn embedded(path: &str) -> Option<&'static [u8]> {
    EMBEDDED.iter().find(|(name, _)| *name == path).map(|(_, bytes)| *bytes)
}
