#![doc = include_str!("../README.md")]

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
    shared_information::{
        AnalysisSize, CRITICAL_Z, SharedInformation, ViewAnalysis, ViewCoordinates, standard_errors,
    },
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
