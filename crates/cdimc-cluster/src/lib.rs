/*!
Clustering of incomplete multi-view data: data goes in as a [`MultiView`](cdimc_data::MultiView), a
[`Clustering`] comes out, and everything between the two implements [`Clusterer`].

A method's `fit` reports every step to an [`Observer`]. Besides the [`Clustering`] some methods give a
[`Model`], which clusters new samples and fills in missing views. Here is [`CdimcNet`],
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
    archive::{note, sealed_anew, with_note},
    cdimc_net::{
        AgeRule, Arrangement, Assignment, CdimcModel, CdimcNet, Comparison, Deviation, Finetune,
        FinetuneOptimizer, Finetuning, FirstRound, KMeansSettings, Pace, Pretrain, Round, Stage,
        Training, Update,
    },
    clusterer::{Clusterer, Clustering, Cost, Curve, Fitted, RowOrder, check_n_clusters},
    error::ClusterError,
    kmeans::{Coordinate, KMeans, KMeansFit},
    model::{Model, Prediction, check_views},
    observer::{Observer, Step},
};

pub mod archive;
pub mod check;
pub mod confidence;

mod cdimc_net;
mod clusterer;
mod components;
mod error;
mod kmeans;
mod model;
mod observer;
