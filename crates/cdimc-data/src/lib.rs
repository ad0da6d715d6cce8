#![doc = include_str!("../README.md")]

pub use crate::{
    dataset::Dataset,
    error::DataError,
    file::write_whole,
    mask::ViewMask,
    mask_report::MaskReport,
    matrix::Matrix,
    mechanism::Mechanism,
    multi_view::MultiView,
    pattern::MissingPattern,
    preprocessing::{Standardizer, geometry_version, unit_of},
    seed::Seed,
    sparse::Sparse,
    synthetic::{SyntheticMap, SyntheticView, SyntheticViews, standard_normal},
};

mod dataset;
mod error;
mod file;
mod mask;
mod mask_report;
mod matrix;
mod mechanism;
mod multi_view;
mod pattern;
mod pattern_text;
mod preprocessing;
mod removal;
mod seed;
mod sparse;
mod synthetic;
