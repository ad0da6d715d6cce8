/*!
The common parts of all clustering methods: data goes in as a [`MultiView`](cdimc_data::MultiView), a [`Clustering`]
comes out, and everything between the two implements [`Clusterer`].

[`Clusterer::fit`] reports every step to an [`Observer`]. Some methods also return a [`Model`], which clusters new
samples, fills in missing views and can be saved as an [`archive`]. This crate also has building blocks of methods:
[`KMeans`], range checks of settings ([`check`]) and the [`confidence`] of labels.

```
use cdimc_core::KMeans;
use cdimc_data::Seed;

let points = ndarray::array![[0.0, 0.0], [0.0, 1.0], [9.0, 9.0], [9.0, 8.0]];
let fit = KMeans::new(2).fit(points.view(), Seed::new(1))?;
assert_eq!(fit.labels[0], fit.labels[1]);
assert_ne!(fit.labels[0], fit.labels[2]);
# Ok::<(), cdimc_core::ClusterError>(())
```
*/

pub use crate::{
    archive::note,
    clusterer::{Clusterer, Cost, Fitted, RowOrder, check_n_clusters},
    clustering::{Clustering, Curve},
    configured::{Configured, MethodError, configure, configure_with, settings_of},
    distance::squared_distance,
    error::ClusterError,
    kmeans::{Coordinate, KMeans, KMeansFit},
    model::{Model, check_views},
    observer::{CHECKPOINT, Observer, Silent, Step},
    shared_information::{AnalysisSize, SharedInformation, ViewAnalysis, ViewCoordinates},
};

pub mod archive;
pub mod check;
pub mod confidence;

mod clusterer;
mod clustering;
mod configured;
mod distance;
mod error;
mod kmeans;
#[doc(hidden)] // Of the workspace's methods, not of users: its matrices are faer's.
pub mod linear_algebra;
mod model;
mod observer;
mod shared_information;
