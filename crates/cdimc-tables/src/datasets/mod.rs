/*!
Data sets of the experiments: descriptions, files, and their decoding into views and labels.

A [`Manifest`] describes one, a [`Catalog`] finds and reads them.
*/

mod catalog;
mod decode;
mod image;
mod manifest;

pub use catalog::{Catalog, sha256};
pub use manifest::{
    Checksum, DataFile, Images, Manifest, MaskSource, Orientation, Rows, Source, ViewSource,
};
