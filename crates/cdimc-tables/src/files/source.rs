//! Where a view is to be read from.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Where a view is to be read from: `[NAME=]PATH[#MEMBER]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewSource {
    /// The name the user gave it.
    pub name: Option<String>,
    /// The file.
    pub path: PathBuf,
    /// One array of a file that holds several.
    pub member: Option<String>,
}

impl FromStr for ViewSource {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // A path that exists is taken as it is, so that names with `=` or `#` in them stay usable.
        if Path::new(text).exists() {
            return Ok(Self { name: None, path: text.into(), member: None });
        }
        let (name, rest) = match text.split_once('=') {
            Some((name, rest)) if !name.is_empty() && !name.contains(['/', '\\']) => {
                (Some(name.to_owned()), rest)
            }
            _ => (None, text),
        };
        let (path, member) = match rest.rsplit_once('#') {
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
        assert_eq!(
            parse("rna=data/omics.npz#expr"),
            ViewSource {
                name: Some("rna".into()),
                path: "data/omics.npz".into(),
                member: Some("expr".into())
            }
        );
        assert_eq!(parse("./a=b.csv").path, PathBuf::from("./a=b.csv"));
        assert_eq!(parse("rna=data/omics.npz#expr").to_string(), "rna=data/omics.npz#expr");
    }
}
