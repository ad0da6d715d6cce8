/*!
Reads a user's files, one table per view, and joins them by id.

The command line names a view as `[NAME=]PATH[#MEMBER]`. MEMBER selects one array of a file that holds several; without
it, every matrix of the file is a view.

Sizes that a file declares are checked against its content and against a memory budget. Parquet, Arrow and HDF5 are
decoded by third-party crates, either with panics caught or in a separate process ([`ReadOptions::decoder`]).

```
use cdimc_tables::{ReadOptions, join, read_views};
let folder = tempfile::tempdir()?;
let path = |name: &str| folder.path().join(name).display().to_string();
std::fs::write(path("rna.csv"), "id,a,b\nx,1,2\ny,3,5\n")?;
std::fs::write(path("protein.csv"), "id,c\ny,0.5\nz,0.1\n")?;
let options = ReadOptions { id: Some("id".into()), ..ReadOptions::default() };
let mut tables = read_views(&path("rna.csv").parse()?, &options)?;
tables.extend(read_views(&path("protein.csv").parse()?, &options)?);
let joined = join(tables, false)?;
assert_eq!(joined.ids, ["x", "y", "z"]);
assert!(!joined.data.mask().is_observed(0, 1));
# Ok::<(), Box<dyn std::error::Error>>(())
```
*/

mod checks;
mod error;
mod join;
mod option_names;
mod overlap;
mod spelling;
mod table;
#[cfg(test)]
#[cfg(feature = "files")]
mod testing;

#[cfg(feature = "files")]
pub mod datasets;
#[cfg(feature = "files")]
mod files;

pub use checks::{advice_on_repeats, text_among_numbers};
pub use error::TableError;
#[cfg(feature = "files")]
pub use files::{
    IdxFile, MatFile, Occurred, ReadOptions, Replicates, SampleNames, ViewSource, Words,
    decode_for_parent, formats, is_missing_value, read_bytes, read_views, read_words,
};
pub use join::{FilledColumn, JoinError, Joined, join, join_new, joined_by_number};
pub use option_names::{line_of_names, names_in};
pub use overlap::id_advice;
pub use spelling::plain_spelling;
pub use table::{Table, check_name};
