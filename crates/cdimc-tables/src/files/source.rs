//! Source of a view.

use crate::error::Problem;
use crate::files::tenx;
use std::cmp::Ordering;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Source of a view: `[NAME=]PATH[#MEMBER]`.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ViewSource {
    /// Name given by the user.
    pub name: Option<String>,
    /// A file, or a folder of 10x Genomics.
    pub path: PathBuf,
    /// Selected array of a file that holds several.
    pub member: Option<String>,
}

impl ViewSource {
    /// Replaces a folder of 10x Genomics by its matrix file.
    pub(crate) fn with_its_file(&self) -> Self {
        let matrix = if self.path.is_dir() { tenx::matrix_in(&self.path) } else { None };
        Self { path: matrix.unwrap_or_else(|| self.path.clone()), ..self.clone() }
    }

    /// Returns an error if the selected member is not among `names`.
    pub(crate) fn check_member(&self, names: &[impl AsRef<str>]) -> Result<(), Problem> {
        match &self.member {
            Some(member) if !names.iter().any(|name| name.as_ref() == member) => {
                Err(Problem::no_member(member, names))
            }
            _ => Ok(()),
        }
    }

    /// Returns whether the member `name` is selected; without a selection every member is.
    pub(crate) fn selects(&self, name: &str) -> bool {
        self.member.as_ref().is_none_or(|member| member == name)
    }

    /// Returns all files that are read: of the view or its parts, and files beside them that name samples or features.
    pub fn files(&self) -> Vec<PathBuf> {
        if let Ok(Some(parts)) = self.parts() {
            return parts.iter().flat_map(|(_, part)| part.files()).collect();
        }
        let path = self.with_its_file().path;
        let is_array = path.extension().is_some_and(|e| e == "npy" || e == "npz");
        let ids = Some(path.with_extension("ids.txt")).filter(|ids| is_array && ids.is_file());
        let names = tenx::files_beside(&path).into_iter().flat_map(|(_, names)| names);
        [Some(path), ids].into_iter().chain(names).flatten().collect()
    }

    /// Returns the file's name without folder and endings: `rna` for `data/rna.csv.gz`.
    pub(crate) fn stem(&self) -> String {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_owned()
    }

    /// Returns the files of a view whose file name contains `*`, with the text that `*` matches, in ascending order.
    /// Hidden files are left out. Returns `None` for a view in one file.
    ///
    /// # Errors
    /// If there is another `*`, their folder cannot be read, or the name of a part is not UTF-8.
    pub fn parts(&self) -> io::Result<Option<Vec<(PartName, Self)>>> {
        let shown = self.path.to_string_lossy();
        if !shown.contains('*') || self.path.exists() {
            return Ok(None);
        }
        let name = self.path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let parts = name.split_once('*').filter(|_| shown.matches('*').count() == 1);
        let rule = "only one `*` is allowed, in the name of the file; it stands for the part";
        let (begin, end) = parts.ok_or_else(|| io::Error::other(rule))?;
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let mut parts = Vec::new();
        for entry in std::fs::read_dir(folder.unwrap_or(Path::new(".")))? {
            let file = entry?.file_name();
            let shown = file.to_string_lossy();
            let part = shown.strip_prefix(begin).and_then(|rest| rest.strip_suffix(end));
            let is_hidden = begin.is_empty() && shown.starts_with('.');
            let Some(part) = part.filter(|_| !is_hidden) else { continue };
            // Skipping it would lose its samples.
            if file.to_str().is_none() {
                let reason = format!("the name of `{shown}` is not UTF-8: rename the file");
                return Err(io::Error::other(reason));
            }
            let path = self.path.with_file_name(&file);
            parts.push((PartName(part.to_owned()), Self { path, ..self.clone() }));
        }
        parts.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(Some(parts))
    }
}

/// Name of a part. Numbers in names are ordered by value, as in Dask: `part.9` is before `part.10`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartName(pub String);

impl PartName {
    /// Returns the runs of digits and of other characters: the text, or the number of digits without leading zeros and
    /// these digits.
    fn runs(&self) -> impl Iterator<Item = (&[u8], usize, &[u8])> {
        let runs = self.0.as_bytes().chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit());
        runs.map(|run| {
            let n_zeros = run.iter().take_while(|&&byte| byte == b'0').count();
            if run[0].is_ascii_digit() {
                (&run[..0], run.len() - n_zeros, &run[n_zeros..])
            } else {
                (run, 0, &run[..0])
            }
        })
    }
}

impl Ord for PartName {
    fn cmp(&self, other: &Self) -> Ordering {
        self.runs().cmp(other.runs()).then_with(|| self.0.cmp(&other.0))
    }
}

impl PartialOrd for PartName {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl FromStr for ViewSource {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // An existing path is taken as is, so that file names with `=` or `#` work.
        if Path::new(text).exists() {
            return Ok(Self { name: None, path: text.into(), member: None });
        }
        let (name, rest) = match text.split_once('=') {
            Some((name, rest)) if !name.is_empty() && !name.contains(['/', '\\']) => {
                (Some(name.to_owned()), rest)
            }
            _ => (None, text),
        };
        // A member may have `#` in its name: the path ends at the first one that leaves a file.
        let is_file = |at: &usize| Path::new(&rest[..*at]).exists();
        let mut ends = rest.match_indices('#').map(|(at, _)| at);
        let end = ends.find(is_file).or_else(|| rest.rfind('#'));
        let (path, member) = match end.map(|at| (&rest[..at], &rest[at + 1..])) {
            Some((path, member)) if !member.is_empty() && !Path::new(rest).exists() => {
                (path, Some(member.to_owned()))
            }
            _ => (rest, None),
        };
        Ok(Self { name, path: path.into(), member })
    }
}

impl fmt::Display for ViewSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = &self.name {
            write!(f, "{name}=")?;
        }
        write!(f, "{}", self.path.display())?;
        self.member.as_ref().map_or(Ok(()), |member| write!(f, "#{member}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_source_has_a_name_a_path_and_a_member() {
        let parse = |text: &str| text.parse::<ViewSource>().unwrap();
        let (name, member) = (Some("rna".into()), Some("expr".into()));
        let expected = ViewSource { name, path: "data/omics.npz".into(), member };
        assert_eq!(parse("rna=data/omics.npz#expr"), expected);
        let stems = ["x/rna.csv.gz", "protein.v2.npy"].map(|path| parse(path).stem());
        assert_eq!(stems, ["rna", "protein.v2"]);
        assert_eq!(parse("./a=b.csv").path, PathBuf::from("./a=b.csv"));
        assert_eq!(parse("rna=data/omics.npz#expr").to_string(), "rna=data/omics.npz#expr");
    }

    #[test]
    fn parts_are_ordered_by_the_numbers_in_their_names() {
        let mut names = ["10", "9", "a2", "a10b1", "a10b", "09", "a", "123456789012345678901", "b"]
            .map(|name| PartName(name.to_owned()));
        names.sort();
        let names = names.map(|name| name.0);
        let expected = ["09", "9", "10", "123456789012345678901", "a", "a2", "a10b", "a10b1", "b"];
        assert_eq!(names, expected);
    }

    #[test]
    fn a_star_matches_the_parts_of_a_view() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["rna-b.csv", "rna-a.csv", "rna-a.npy", "protein-a.csv", ".x.npy"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let source = |file: &str| ViewSource {
            name: Some("rna".into()),
            path: folder.path().join(file),
            member: None,
        };
        let parts = source("rna-*.csv").parts().unwrap().unwrap();
        let expected =
            ["a", "b"].map(|p| (PartName(p.to_owned()), source(&format!("rna-{p}.csv"))));
        assert_eq!(parts, expected);
        assert_eq!(source("rna-a.csv").parts().unwrap(), None);
        let path = folder.path().join("rna-a.csv");
        let numbered: ViewSource = format!("p={}#Prot#2", path.display()).parse().unwrap();
        assert_eq!((numbered.path, numbered.member), (path, Some("Prot#2".to_owned())));
        // An existing path is taken as is.
        std::fs::write(folder.path().join("rna-*.csv"), "").unwrap();
        assert_eq!(source("rna-*.csv").parts().unwrap(), None);
        assert!(source("no/*.csv").parts().is_err());
        assert_eq!(source("*.npy").parts().unwrap().unwrap().len(), 1);
        for name in ["*/a.csv", "rna-*-*.csv"] {
            let message = source(name).parts().unwrap_err().to_string();
            assert!(message.starts_with("only one `*` is allowed"), "{message}");
        }
        #[cfg(target_os = "linux")]
        {
            use std::os::unix::ffi::OsStrExt;
            let odd = std::ffi::OsStr::from_bytes(b"protein-\xff.csv");
            std::fs::write(folder.path().join(odd), "").unwrap();
            let message = source("protein-*.csv").parts().unwrap_err().to_string();
            assert!(message.contains("`protein-\u{fffd}.csv` is not UTF-8"), "{message}");
        }
    }
}
