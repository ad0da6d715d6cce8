/*!
Clustering of incomplete multi-view data: data goes in as a [`MultiView`](cdimc_data::MultiView), a
[`Clustering`] comes out, and everything between the two implements [`Clusterer`].

The principal type is [`CdimcNet`], the settings of CDIMC-net. Its `fit` gives a [`CdimcModel`], which
clusters new samples and fills in missing views, beside the [`Clustering`]; its `start` gives a
[`Training`] that goes step by step.

```
use cdimc_cluster::{CdimcNet, Finetune, Pretrain};
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
let (model, clustering) = net.fit(&data, 4, Seed::new(1))?;
assert_eq!(clustering.labels.len(), 60);
assert_eq!(model.predict(&data)?.labels, clustering.labels);
# Ok::<(), Box<dyn std::error::Error>>(())
```
*/

pub use crate::{
    arrange::Arrangement,
    assignment::Assignment,
    cdimc_net::{CdimcNet, KMeansSettings, Pretrain},
    clusterer::{Clusterer, Clustering, Curve, RowOrder, check_n_clusters},
    error::ClusterError,
    finetune::{Finetune, FinetuneOptimizer, Finetuning, Round},
    kmeans::{Coordinate, KMeans, KMeansFit},
    model::{CdimcModel, Prediction},
    self_paced::{AgeRule, Comparison, Deviation, FirstRound, Pace, Update},
    training::{Stage, Step, Training},
};

mod archive;
mod arrange;
mod assignment;
mod cdimc_net;
mod check;
mod checkpoint;
mod clusterer;
mod error;
mod finetune;
mod kmeans;
mod model;
mod self_paced;
mod training;
