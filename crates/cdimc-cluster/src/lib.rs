/*!
Clustering of incomplete multi-view data: data goes in as a [`MultiView`](cdimc_data::MultiView), a
[`Clustering`] comes out, and everything between the two implements [`Clusterer`].

The principal type is [`CdimcNet`], the settings of CDIMC-net. Its `fit` gives a [`CdimcModel`], which
clusters new samples and fills in missing views, beside the [`Clustering`]; its `start` gives a
[`Training`] that goes step by step.
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
