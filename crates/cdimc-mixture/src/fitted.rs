//! Fitted mixture: clusters and probabilities of new samples with any subset of the views, imputation, discriminant
//! coordinates and contributions of views.

use crate::association::Association;
use crate::calibration;
use crate::choice::Evidence;
use crate::columns::ColumnMeans;
use crate::coordinates::{self, Kind, projection::Projection};
use crate::criterion::{Contribution, SharedNats, contributions};
use crate::discriminant::Discriminant;
use crate::model::em::Fit;
use crate::model::passes::{Densities, expectation};
use crate::model::{Mixture, Prior};
use crate::observations::Observations;
use crate::responsibilities::{Responsibilities, tempered};
use crate::sets::{Hiding, Limits};
use crate::settings::TMixture;
use cdimc_core::{ClusterError, Clustering, Curve, Model, archive::Archive, check_views};
use cdimc_data::{MultiView, Seed, Standardizer};
use ndarray::{Array2, ArrayView1};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Share of the training rows of a view that are not unusual.
const UNUSUAL_QUANTILE: f64 = 0.999;

/// Mixture fitted to data, without derived quantities.
pub(crate) struct Solution {
    pub(crate) projections: Vec<Projection>,
    pub(crate) observations: Observations,
    pub(crate) fit: Fit,
    /// Shared information of the search.
    pub(crate) shared: SharedNats,
    /// Log-likelihood and shared information of the refined starts.
    pub(crate) curves: Vec<Curve>,
    /// Evidence for the kinds of coordinates.
    pub(crate) evidence: Vec<Evidence>,
    pub(crate) prior: Prior,
    /// Mean adjusted Rand index between these clusters and the clusters of each other search.
    pub(crate) agreement: Option<f64>,
}

/// Fitted mixture.
#[derive(Debug, Clone)]
pub struct MixtureModel {
    pub(crate) settings: TMixture,
    pub(crate) projections: Vec<Projection>,
    pub(crate) mixture: Mixture,
    /// Exponent that calibrates the responsibilities.
    pub(crate) exponent: f64,
    /// Limits of the sets of clusters; `None` if they could not be computed.
    pub(crate) set_limits: Option<Limits>,
    /// Largest D of a row that is not unusual, per view.
    pub(crate) max_distances: Vec<f64>,
    pub(crate) discriminant: Discriminant,
    pub(crate) columns: Vec<ColumnMeans>,
    /// `None` for one view, or for too many coordinates.
    pub(crate) association: Option<Association>,
    pub(crate) standardizers: Vec<Standardizer>,
    pub(crate) findings: Findings,
}

/// Findings of a fit about the data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Findings {
    /// Kind of coordinates of each view.
    pub coordinates: Vec<Kind>,
    /// Evidence for the kinds: shared information of each candidate; empty without a choice.
    pub evidence: Vec<Evidence>,
    /// Strength κ of the pooled scatter; absent in older models.
    #[serde(default)]
    pub pooling: Option<f64>,
    /// Share δ of the diagonal in the pooled scatter; absent in older models.
    #[serde(default)]
    pub diagonal: Option<f64>,
    /// T in nats, the shared information of the views that the clusters explain; `None` if no sample has two views.
    pub shared_information: Option<f64>,
    /// Log-likelihood of the data, up to a constant per view.
    pub log_likelihood: f64,
    /// Shared information of each view with the others.
    pub contributions: Vec<Contribution>,
    /// Number of samples in the fit.
    pub n_samples: usize,
    /// Mean adjusted Rand index between these clusters and the clusters of each other search. `None` if there was one
    /// search, and in older models.
    #[serde(default)]
    pub search_agreement: Option<f64>,
}

impl MixtureModel {
    /// Returns the model of a solution for `data`.
    pub(crate) fn new(
        settings: TMixture,
        data: &MultiView,
        solution: &Solution,
        seed: Seed,
    ) -> Self {
        let Solution { projections, observations, fit, shared, evidence, prior, .. } = solution;
        let model = Self {
            settings,
            projections: projections.clone(),
            mixture: fit.mixture.clone(),
            exponent: 1.0,
            set_limits: None,
            max_distances: Vec::new(),
            discriminant: Discriminant::new(&fit.mixture, &fit.pooled),
            columns: Vec::new(),
            association: None,
            standardizers: Vec::new(),
            findings: Findings {
                coordinates: projections.iter().map(|projection| projection.kind).collect(),
                evidence: evidence.clone(),
                pooling: Some(prior.kappa),
                diagonal: Some(prior.diagonal),
                shared_information: (shared.n_samples > 0).then_some(shared.information),
                log_likelihood: fit.log_likelihood,
                contributions: Vec::new(),
                n_samples: observations.n_samples,
                search_agreement: solution.agreement,
            },
        };
        model.with_statistics(data, observations, &fit.responsibilities, seed)
    }

    /// Replaces all that is computed from samples under the mixture: column means, limits of unusual rows, the
    /// calibration with the limits of sets, and associations and contributions of views.
    pub(crate) fn with_statistics(
        self,
        data: &MultiView,
        observations: &Observations,
        responsibilities: &Responsibilities,
        seed: Seed,
    ) -> Self {
        let (mixture, prior) = (&self.mixture, &self.prior());
        let (labels, k) = (responsibilities.labels(), mixture.n_clusters());
        let columns: Vec<ColumnMeans> =
            (0..data.n_views()).map(|v| ColumnMeans::of(data, v, &labels, k)).collect();
        let distances = distances(observations, mixture, &labels);
        let max_distances = distances.into_iter().map(|mut of_view| {
            of_view.retain(|d| !d.is_nan());
            of_view.sort_by(f64::total_cmp);
            let rank = (UNUSUAL_QUANTILE * of_view.len() as f64).ceil() as usize;
            of_view.get(rank.max(1) - 1).copied().unwrap_or(f64::MAX)
        });
        let exponent = calibration::exponent(observations, responsibilities, prior, seed);
        let hiding = Hiding { observations, mixture, prior, exponent, seed };
        let set_limits = hiding.limits(self.settings.coverage);
        let association = Association::of(data, observations, (mixture, &columns), |block| {
            let raw = Array2::from_shape_fn((block.len, k), |(i, c)| {
                responsibilities.at(block.first + i, c)
            });
            tempered(&raw, exponent)
        });
        let contributions = contributions(observations, mixture);
        Self {
            exponent,
            set_limits,
            max_distances: max_distances.collect(),
            association,
            standardizers: columns.iter().map(ColumnMeans::standardizer).collect(),
            columns,
            findings: Findings { contributions, ..self.findings },
            ..self
        }
    }

    /// Returns the prior of the fit.
    pub(crate) fn prior(&self) -> Prior {
        let given = self.settings.priors()[0];
        Prior {
            kappa: self.findings.pooling.unwrap_or(given.kappa),
            diagonal: self.findings.diagonal.unwrap_or(given.diagonal),
            ..given
        }
    }

    /// Returns findings of the fit about the data.
    pub fn findings(&self) -> &Findings {
        &self.findings
    }

    /// Returns the coverage that the sets of clusters promise; `None` if there are no sets.
    pub fn coverage(&self) -> Option<f64> {
        self.set_limits.as_ref().map(|_| self.settings.coverage)
    }

    /// Returns the responsibilities of the clusters for `observations`.
    pub(crate) fn responsibilities(&self, observations: &Observations) -> Responsibilities {
        expectation(observations, &self.mixture).0
    }

    /// Returns the clusters of `observations`, given their responsibilities.
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
        let far =
            |i: usize| distances.iter().zip(&self.max_distances).any(|(d, most)| d[i] > *most);
        let set = |limits: &Limits, i: usize| {
            let n_views = distances.iter().filter(|d| !d[i].is_nan()).count().max(1);
            limits.set(&probabilities.row(i).to_vec(), n_views, self.settings.coverage)
        };
        let sets = |limits| (0..labels.len()).map(|i| set(limits, i)).collect();
        let widths = &observations.widths;
        let loss = |i: usize| {
            let relative = distances.iter().zip(widths).map(|(d, &q)| d[i] / q as f64);
            let (sum, n) =
                relative.filter(|d| !d.is_nan()).fold((0.0, 0), |(sum, n), d| (sum + d, n + 1));
            sum / f64::from(n.max(1))
        };
        Clustering {
            confidence: Some(confidence.collect()),
            sets: self.set_limits.as_ref().map(sets),
            unusual: Some((0..labels.len()).map(far).collect()),
            losses: Some((0..labels.len()).map(loss).collect()),
            probabilities: Some(probabilities),
            embedding: Some(embedding),
            curves: Vec::new(),
            labels,
        }
    }

    /// Combines the model with its training samples.
    ///
    /// # Errors
    /// If the data do not have the views of the model.
    pub fn fitted_to(self, data: &MultiView) -> Result<FittedMixture, ClusterError> {
        let views: Vec<usize> = (0..self.projections.len()).collect();
        self.with_samples(data, &views)
    }

    /// Combines the model with samples of its training or new ones; view `i` of `data` is view `views[i]` of the model.
    ///
    /// # Errors
    /// If the data do not have these views.
    pub fn with_samples(
        self,
        data: &MultiView,
        views: &[usize],
    ) -> Result<FittedMixture, ClusterError> {
        let observations = self.observe(data, views)?;
        Ok(FittedMixture::new(self, observations))
    }

    /// Returns the data as observations of all views of the model; absent views are missing.
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

    /// Returns the most probable clusters; the losses are the mean of D / q over the views of a sample.
    fn predict_from(&self, data: &MultiView, views: &[usize]) -> Result<Clustering, ClusterError> {
        let observations = self.observe(data, views)?;
        Ok(self.predict_observed(&observations, &self.responsibilities(&observations)))
    }

    /// Imputes a missing view as the mean of its columns over the clusters, weighted by the calibrated
    /// probabilities, plus the residual that the other views predict.
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

/// Mixture with the samples of its fit, or with other samples. Their coordinates and responsibilities are computed once.
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

    /// Returns the model.
    pub fn model(&self) -> &MixtureModel {
        &self.model
    }

    /// Returns the number of rows of each view of `data`, the samples of the fit, that count as missing: in `unit`, rows
    /// of zeros.
    pub fn n_zero_rows(&self, data: &MultiView) -> Vec<usize> {
        let n_dropped =
            |v| data.mask().n_observed(v).saturating_sub(self.observations.n_observed(v));
        (0..data.n_views()).map(n_dropped).collect()
    }

    /// Returns the clusters of the samples.
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

/// Returns D of every view and sample, the squared Mahalanobis distance from its cluster; NaN for a missing view.
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
