#![doc = include_str!("../README.md")]

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

pub use checks::{text_among_numbers, usual_code};
pub use error::{TableError, listed_up_to};
#[cfg(feature = "files")]
pub use files::{
    Occurred, PartName, ReadOptions, Replicates, SampleNames, ViewSource, Words, decode_for_parent,
    formats, is_missing_value, read_bytes, read_idx, read_views, read_words,
};
pub use join::{FilledColumn, Joined, join, join_new, joined_by_number};
pub use option_names::{line_of_names, names_in};
pub use overlap::{advice_on_repeats, id_advice};
pub use spelling::plain_spelling;
pub use table::{Table, check_name};
