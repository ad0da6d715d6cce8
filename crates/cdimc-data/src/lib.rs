/*!
Incomplete multi-view data: what a method is allowed to see, and how it comes to be.

The principal type is [`MultiView`]: several views of the same samples, each a matrix
`(n_samples, n_features)`, with a [`ViewMask`] that says which sample was observed in which view.
What was not observed is `NaN` from birth, so code that reads it poisons its own result. A
[`Dataset`] holds complete views together with the truth; hiding part of it with a mask gives the
[`MultiView`] that methods work on, which has no labels.

```
use cdimc_data::{MultiView, ViewMask};
use ndarray::array;

let rna = array![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]];
let protein = array![[0.1], [0.2], [0.3]];
let mask = ViewMask::new(array![[true, true], [true, false], [false, true]])?;
let data = MultiView::new(vec![rna, protein], mask)?;
assert!(data.view(0)[[2, 0]].is_nan());
assert_eq!(data.mask().observed_rows(1), vec![0, 2]);
# Ok::<(), cdimc_data::DataError>(())
```
*/

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
    preprocessing::{Geometry, Standardizer, geometry_version, unit_of},
    seed::Seed,
    sparse::Sparse,
    synthetic::{SyntheticMap, SyntheticView, SyntheticViews},
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
