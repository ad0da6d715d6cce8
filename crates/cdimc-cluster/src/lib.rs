/*!
Clustering of incomplete multi-view data: data goes in as a [`MultiView`](cdimc_data::MultiView), a
[`Clustering`] comes out, and everything between the two implements [`Clusterer`].

A method's `fit` tells an [`Observer`] of every step, and gives a [`Model`], which clusters new samples
and fills in missing views, beside the [`Clustering`] where the method makes one. Here is [`CdimcNet`],
the settings of CDIMC-net; its `start` gives a [`Training`] that goes step by step.

```
use cdimc_cluster::{CdimcNet, Clusterer, Finetune, Observer, Pretrain};
use cdimc_data::{MissingPattern, Seed, SyntheticViews};

let dataset = SyntheticViews { n_samples: 60, ..SyntheticViews::default() }.generate(Seed::new(1))?;
let mask = MissingPattern::PerView(0.3).mask(60, dataset.n_views(), Seed::new(1).stream("mask"))?;
let data = dataset.observe(mask)?;
// So short a training is for the example only.
let net = CdimcNet {
    pretrain: Pretrain { epochs: 5, ..Pretrain::default() },
    finetune: Finetune { rounds: 2, ..Finetune::default() },
    ..CdimcNet::default()
};
let fitted = net.fit(&data, 4, Seed::new(1), &Observer::silent())?;
assert_eq!(fitted.clustering.labels.len(), 60);
let model = fitted.model.expect("CDIMC-net makes a model");
assert_eq!(model.predict(&data)?.labels, fitted.clustering.labels);
# Ok::<(), Box<dyn std::error::Error>>(())
```
*/

pub use crate::{
    archive::{note, with_note},
    arrange::Arrangement,
    assignment::Assignment,
    cdimc_model::CdimcModel,
    cdimc_net::{CdimcNet, KMeansSettings, Pretrain},
    clusterer::{Clusterer, Clustering, Cost, Curve, Fitted, RowOrder, check_n_clusters},
    error::ClusterError,
    finetune::{Finetune, FinetuneOptimizer, Finetuning, Round},
    kmeans::{Coordinate, KMeans, KMeansFit},
    model::{Model, Prediction, check_views},
    observer::{Observer, Step},
    self_paced::{AgeRule, Comparison, Deviation, FirstRound, Pace, Update},
    training::{Stage, Training},
};

pub mod archive;
pub mod check;
pub mod confidence;

mod arrange;
mod assignment;
mod cdimc_model;
mod cdimc_net;
mod checkpoint;
mod clusterer;
mod components;
mod error;
mod finetune;
mod kmeans;
mod model;
mod observer;
mod self_paced;
mod training;
