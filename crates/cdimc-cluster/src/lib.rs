/*!
Clustering of incomplete multi-view data: data goes in as a [`MultiView`](cdimc_data::MultiView), a
[`Clustering`] comes out, and everything between the two implements [`Clusterer`].
*/

pub use crate::{
    clusterer::{Clusterer, Clustering, Curve, RowOrder, check_n_clusters},
    error::ClusterError,
    kmeans::{Coordinate, KMeans, KMeansFit},
};

mod clusterer;
mod error;
mod kmeans;
