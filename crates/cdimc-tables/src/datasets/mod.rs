/*!
The data sets of the experiments: what each is, where its files lie, and how they become views with labels.

A [`Manifest`] describes one, a [`Catalog`] finds and reads them.
*/

mod catalog;
mod decode;
mod image;
mod manifest;

pub use crate::error::DatasetError;
pub use catalog::{Catalog, DatasetStatus, sha256};
pub use manifest::{
    Checksum, DataFile, Manifest, MaskSource, Orientation, Rows, Source, ViewSource,
};
