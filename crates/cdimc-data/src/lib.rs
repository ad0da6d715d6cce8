/*!
Incomplete multi-view data: the input of methods, and the tools to make it.

The main type is [`MultiView`]: several views of the same samples, each a matrix `(n_samples, n_features)`, with a
[`ViewMask`] of the observed (sample, view) cells. Unobserved values are `NaN` from the start, so code that reads them
produces NaN. A [`Dataset`] holds complete views with known classes; a mask turns it into a [`MultiView`] for methods,
without labels.

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
