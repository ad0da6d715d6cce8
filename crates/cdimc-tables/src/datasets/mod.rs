/*!
The data sets of the experiments: what each is, where its files lie, and how they become views with labels.

A [`Manifest`] describes one, a [`Catalog`] finds and reads them.
*/

mod catalog;
mod decode;
mod error;
mod image;
mod manifest;

pub use catalog::{Catalog, DatasetStatus, sha256};
pub use error::DatasetError;
pub use manifest::{
    Checksum, DataFile, Manifest, MaskSource, Orientation, Rows, Source, ViewSource,
};
