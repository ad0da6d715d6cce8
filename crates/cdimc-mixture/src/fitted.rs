//! The fitted mixture: clusters of new samples with any subset of the views, probabilities, missing views
//! filled in, discriminant coordinates and contributions of views.

use crate::association::Association;
use crate::choice::Evidence;
use crate::columns::ColumnMeans;
use crate::coordinates::{self, Kind, projection::Projection};
use crate::criterion::{Contribution, Shared, contributions};
use crate::discriminant::Discriminant;
use crate::model::em::Fit;
use crate::model::passes::{Densities, expectation};
use crate::model::{Mixture, Prior};
use crate::observations::Observations;
use crate::responsibilities::Responsibilities;
use crate::settings::TMixture;
use cdimc_core::{ClusterError, Clustering, Model, archive::Archive, check_views};
use cdimc_data::{MultiView, Standardizer};
use ndarray::{Array2, ArrayView1};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The share of a view's training rows that lie nearer to their cluster than an unusual one.
const USUAL: f64 = 0.999;

/// A mixture on some data, before anything is made of it.
pub(crate) struct Solution {
    pub(crate) projections: Vec<Projection>,
    pub(crate) observations: Observations,
    pub(crate) fit: Fit,
    /// Of the search.
    pub(crate) shared: Shared,
    /// Of every refined start.
    pub(crate) refined: Vec<(f64, Shared)>,
    /// What spoke for the kinds of coordinates.
    pub(crate) evidence: Vec<Evidence>,
    pub(crate) prior: Prior,
}

/// A fitted mixture.
#[derive(Debug, Clone)]
pub struct MixtureModel {
    pub(crate) settings: TMixture,
    pub(crate) projections: Vec<Projection>,
    pub(crate) mixture: Mixture,
    /// The exponent that calibrates responsibilities.
    pub(crate) exponent: f64,
    /// Of every view: a row whose D is beyond this is unlike anything in training.
    pub(crate) farthest: Vec<f64>,
    pub(crate) discriminant: Discriminant,
    pub(crate) columns: Vec<ColumnMeans>,
    /// `None` if there is one view, or very many coordinates.
    pub(crate) association: Option<Association>,
    pub(crate) standardizers: Vec<Standardizer>,
    pub(crate) findings: Findings,
}

/// What a fit found out about the data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Findings {
    /// The kind of coordinates of every view.
    pub coordinates: Vec<Kind>,
    /// What spoke for them: shared information with each that was tried; empty where there was nothing to choose.
    pub evidence: Vec<Evidence>,
    /// κ of the clusters; absent in models that were saved before it was chosen.
    #[serde(default)]
    pub pooling: Option<f64>,
    /// The share of the pooled scatter that is its diagonal alone; absent as κ is.
    #[serde(default)]
    pub diagonal: Option<f64>,
    /// T in nats: what the views of a sample say about one another, as the clusters explain it; `None` where no sample has
    /// two views.
    pub shared_information: Option<f64>,
    /// The log-likelihood of the data, but for a constant of each view.
    pub log_likelihood: f64,
    /// What every view says about the others and they about it.
    pub contributions: Vec<Contribution>,
    /// Samples that the clusters were fitted to.
    pub n_samples: usize,
}

impl MixtureModel {
    pub(crate) fn new(
        settings: TMixture,
        data: &MultiView,
        solution: &Solution,
        exponent: f64,
    ) -> Self {
        let Solution { projections, observations, fit, shared, evidence, .. } = solution;
        let labels = fit.responsibilities.labels();
        let k = fit.mixture.n_clusters();
        let columns: Vec<ColumnMeans> =
            (0..data.n_views()).map(|v| ColumnMeans::of(data, v, &labels, k)).collect();
        let distances = distances(observations, &fit.mixture, &labels);
        let farthest = distances
            .into_iter()
            .map(|of_view| quantile(of_view.into_iter().filter(|d| !d.is_nan()).collect(), USUAL));
        let association = Association::of(data, observations, (&fit.mixture, &columns), |block| {
            let raw = Array2::from_shape_fn((block.len, k), |(i, c)| {
                fit.responsibilities.at(block.first + i, c)
            });
            tempered(&raw, exponent)
        });
        Self {
            settings,
            association,
            projections: projections.clone(),
            mixture: fit.mixture.clone(),
            exponent,
            farthest: farthest.collect(),
            discriminant: Discriminant::new(&fit.mixture, &fit.pooled),
            standardizers: columns.iter().map(ColumnMeans::standardizer).collect(),
            columns,
            findings: Findings {
                coordinates: projections.iter().map(|projection| projection.kind).collect(),
                evidence: evidence.clone(),
                pooling: Some(solution.prior.kappa),
                diagonal: Some(solution.prior.diagonal),
                shared_information: (shared.n_samples > 0).then_some(shared.information),
                log_likelihood: fit.log_likelihood,
                contributions: contributions(observations, &fit.mixture),
                n_samples: observations.n_samples,
            },
        }
    }

    /// Responsibilities of the clusters for observed samples.
    pub(crate) fn responsibilities(&self, observations: &Observations) -> Responsibilities {
        let k = self.mixture.n_clusters();
        let mut responsibilities = Responsibilities::zeros(observations.n_samples, k);
        let _ = expectation(observations, &self.mixture, &mut responsibilities);
        responsibilities
    }

    /// Clusters of observed samples with these responsibilities.
    pub(crate) fn predict_observed(
        &self,
        observations: &Observations,
        responsibilities: &Responsibilities,
    ) -> Clustering {
        let labels = responsibilities.labels();
        let raw = responsibilities.to_array();
        let embedding = self.discriminant.embed(observations, &raw);
        let probabilities = tempered(&raw, self.exponent);
        let confidence = probabilities.rows().into_iter().zip(&labels).map(|(row, &c)| row[c]);
        let distances = distances(observations, &self.mixture, &labels);
        let far = |i| distances.iter().zip(&self.farthest).any(|(d, farthest)| d[i] > *farthest);
        let widths = &observations.widths;
        let loss = |i: usize| {
            let relative = distances.iter().zip(widths).map(|(d, &q)| d[i] / q as f64);
            let (sum, n) =
                relative.filter(|d| !d.is_nan()).fold((0.0, 0), |(sum, n), d| (sum + d, n + 1));
            sum / f64::from(n.max(1))
        };
        Clustering {
            confidence: Some(confidence.collect()),
            unusual: Some((0..labels.len()).map(far).collect()),
            losses: Some((0..labels.len()).map(loss).collect()),
            probabilities: Some(probabilities),
            embedding: Some(embedding),
            curves: Vec::new(),
            labels,
        }
    }

    /// The model together with the samples of its training.
    ///
    /// # Errors
    /// If the data have not the model's views.
    pub fn fitted_to(self, data: &MultiView) -> Result<FittedMixture, ClusterError> {
        let views: Vec<usize> = (0..self.projections.len()).collect();
        let observations = self.observe(data, &views)?;
        Ok(FittedMixture::new(self, observations))
    }

    /// The data as observations of all views of the model, those that they lack being unobserved.
    pub(crate) fn observe(
        &self,
        data: &MultiView,
        views: &[usize],
    ) -> Result<Observations, ClusterError> {
        check_views(&self.widths(), data, views)?;
        Ok(coordinates::observe_given(data, views, &self.projections))
    }
}

impl Model for MixtureModel {
    fn method(&self) -> &'static str {
        TMixture::NAME
    }

    fn n_clusters(&self) -> usize {
        self.mixture.n_clusters()
    }

    fn standardizers(&self) -> &[Standardizer] {
        &self.standardizers
    }

    /// Labels are those of largest responsibility, losses the mean of D / q over the sample's views.
    fn predict_from(&self, data: &MultiView, views: &[usize]) -> Result<Clustering, ClusterError> {
        let observations = self.observe(data, views)?;
        Ok(self.predict_observed(&observations, &self.responsibilities(&observations)))
    }

    /// A missing view is the mean of the clusters in the view's own columns, weighted by the calibrated
    /// probabilities, plus what the deviations of the sample's other views lead one to expect.
    fn impute_from(
        &self,
        data: &MultiView,
        views: &[usize],
    ) -> Result<Vec<Array2<f64>>, ClusterError> {
        let observations = self.observe(data, views)?;
        let raw = self.responsibilities(&observations).to_array();
        let probabilities = tempered(&raw, self.exponent);
        let given = |view: usize| views.iter().position(|&v| v == view);
        let has =
            |i: usize, view: usize| given(view).is_some_and(|v| data.mask().is_observed(i, v));
        let fill = |view: usize| {
            let mut buffer = Vec::new();
            let mut filled = probabilities.dot(&self.columns[view].shrunk);
            for (i, mut row) in filled.rows_mut().into_iter().enumerate() {
                if let Some(given) = given(view).filter(|_| has(i, view)) {
                    let measured = data.matrix(given).row(i, &mut buffer);
                    row.assign(&ArrayView1::from(measured));
                }
            }
            filled
        };
        let mut filled: Vec<Array2<f64>> = (0..self.projections.len()).map(fill).collect();
        if let Some(association) = &self.association {
            let is_missing = |i: usize, view: usize| !has(i, view);
            let known = (&probabilities, &is_missing as &dyn Fn(usize, usize) -> bool);
            association.add_to(&mut filled, &observations, &self.mixture, known);
        }
        Ok(filled)
    }

    fn settings(&self) -> Value {
        serde_json::to_value(&self.settings).unwrap_or_default()
    }

    fn archive(&self) -> Result<Archive, ClusterError> {
        self.write()
    }

    fn facts(&self) -> Value {
        json!({ "findings": self.findings, "calibration-exponent": self.exponent })
    }
}

/// A mixture together with the samples that it was fitted to: what is asked about the clusters after the fit is answered
/// from their coordinates and responsibilities, which are computed once.
#[derive(Debug, Clone)]
pub struct FittedMixture {
    pub(crate) model: MixtureModel,
    pub(crate) observations: Observations,
    pub(crate) responsibilities: Responsibilities,
    pub(crate) labels: Vec<usize>,
}

impl FittedMixture {
    pub(crate) fn new(model: MixtureModel, observations: Observations) -> Self {
        let responsibilities = model.responsibilities(&observations);
        let labels = responsibilities.labels();
        Self { model, observations, responsibilities, labels }
    }

    /// The model alone.
    pub fn model(&self) -> &MixtureModel {
        &self.model
    }

    /// The model alone, without the samples.
    pub fn into_model(self) -> MixtureModel {
        self.model
    }

    /// Clusters of the samples.
    pub fn clustering(&self) -> Clustering {
        self.model.predict_observed(&self.observations, &self.responsibilities)
    }
}

impl Model for FittedMixture {
    fn method(&self) -> &'static str {
        self.model.method()
    }

    fn n_clusters(&self) -> usize {
        self.model.n_clusters()
    }

    fn standardizers(&self) -> &[Standardizer] {
        self.model.standardizers()
    }

    fn predict_from(&self, data: &MultiView, views: &[usize]) -> Result<Clustering, ClusterError> {
        self.model.predict_from(data, views)
    }

    fn impute_from(
        &self,
        data: &MultiView,
        views: &[usize],
    ) -> Result<Vec<Array2<f64>>, ClusterError> {
        self.model.impute_from(data, views)
    }

    fn archive(&self) -> Result<Archive, ClusterError> {
        self.model.archive()
    }

    fn settings(&self) -> Value {
        Model::settings(&self.model)
    }

    fn facts(&self) -> Value {
        self.model.facts()
    }
}

/// D of every view and sample: its squared Mahalanobis distance from its cluster; NaN where the sample
/// lacks the view.
fn distances(observations: &Observations, mixture: &Mixture, labels: &[usize]) -> Vec<Vec<f64>> {
    let k = mixture.n_clusters();
    let mut densities = Densities::default();
    let mut of_view = |v: usize| {
        let components = &mixture.views[v];
        let q = components.width as f64;
        let mut distances = vec![f64::NAN; labels.len()];
        for block in &observations.blocks {
            let view = &block.views[v];
            densities.of(view, components, mixture.nu);
            for (j, &i) in view.samples.iter().enumerate() {
                let sample = block.first + i as usize;
                let u = densities.weights[Densities::index(j, labels[sample], k)];
                distances[sample] = (mixture.nu + q) / u - mixture.nu;
            }
        }
        distances
    };
    (0..observations.n_views()).map(&mut of_view).collect()
}

/// The value that a share of `values` does not exceed.
fn quantile(mut values: Vec<f64>, share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let rank = (share * values.len() as f64).ceil() as usize;
    values.get(rank.max(1) - 1).copied().unwrap_or(f64::MAX)
}

/// As probabilities: `R^T`, rows summing to 1.
fn tempered(responsibilities: &Array2<f64>, exponent: f64) -> Array2<f64> {
    let mut tempered = responsibilities.mapv(|r| r.powf(exponent));
    for mut row in tempered.rows_mut() {
        let sum = row.sum();
        row.mapv_inplace(|r| r / sum);
    }
    tempered
}
