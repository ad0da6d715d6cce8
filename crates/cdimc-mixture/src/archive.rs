//! File of a fitted mixture.

use crate::association::Association;
use crate::columns::{ColumnMeans, TypicalValues};
use crate::coordinates::{Kind, normal_scores::NormalScores, projection::Projection};
use crate::discriminant::Discriminant;
use crate::fitted::{Findings, MixtureModel};
use crate::model::Mixture;
use crate::model::components::Components;
use crate::sets::Limits;
use crate::settings::TMixture;
use cdimc_core::archive::{self, Archive};
use cdimc_core::{ClusterError, Clusterer};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use std::path::Path;
use std::sync::Arc;

/// Content of a model file besides its arrays. Saved as JSON bytes in the array `description`, since the checksum
/// is over numbers.
#[derive(Serialize, Deserialize)]
struct Description {
    #[serde(deserialize_with = "known_settings")]
    settings: TMixture,
    findings: Findings,
    kinds: Vec<Kind>,
}

/// Settings of files that were saved when the mixture had them.
const REMOVED_SETTINGS: [&str; 3] = ["refined", "tries", "rule"];

/// Returns the settings without [`REMOVED_SETTINGS`].
fn known_settings<'de, D: Deserializer<'de>>(deserializer: D) -> Result<TMixture, D::Error> {
    let mut settings = serde_json::Map::deserialize(deserializer)?;
    settings.retain(|name, _| !REMOVED_SETTINGS.contains(&name.as_str()));
    serde_json::from_value(settings.into()).map_err(D::Error::custom)
}

impl MixtureModel {
    /// Kind of a model file.
    pub const KIND: &'static str = "cdimc mixture";

    pub(crate) fn write(&self) -> Result<Archive, ClusterError> {
        let description = Description {
            settings: self.settings.clone(),
            findings: self.findings.clone(),
            kinds: self.projections.iter().map(|projection| projection.kind).collect(),
        };
        let mut archive = Archive::new(Self::KIND, &())?;
        let description = serde_json::to_vec(&description)
            .map_err(|e| ClusterError::Model(format!("{}: {e}", Self::KIND)))?;
        archive.put("description", description);
        archive.put("exponent", [self.exponent]);
        if let Some(limits) = &self.set_limits {
            archive.put("set-limits", limits.sure.iter().chain([&limits.unsure]).copied());
        }
        archive.put("farthest", self.max_distances.iter().copied());
        archive.put("log-weights", self.mixture.log_weights.iter().copied());
        for (v, projection) in self.projections.iter().enumerate() {
            put_projection(&mut archive, v, projection);
            let components = &self.mixture.views[v];
            for (name, values) in [
                ("means", &components.means),
                ("whitening", &components.whitening),
                ("constants", &components.constants),
                ("spread", &self.columns[v].sds),
                ("mean-of-all", &self.columns[v].all),
            ] {
                archive.put(format!("view{v}.{name}"), values.iter().copied());
            }
            for (name, matrix) in [
                ("discriminant", &self.discriminant.directions[v]),
                ("discriminant-means", &self.discriminant.means[v]),
                ("shrunk-means", &self.columns[v].shrunk),
            ] {
                archive.put_matrix(format!("view{v}.{name}"), matrix.view());
            }
            if let Some(typical) = &self.columns[v].typical {
                archive.put_matrix(format!("view{v}.typical"), typical.values.view());
                archive.put(format!("view{v}.typical-rows"), typical.n_rows.iter().copied());
            }
        }
        if let Some(association) = &self.association {
            archive.put("association-scales", association.scales.iter().copied());
            archive.put_matrix("association", association.covariance.view());
            for (v, loadings) in association.loadings.iter().enumerate() {
                archive.put_matrix(format!("view{v}.loadings"), loadings.view());
            }
        }
        Ok(archive)
    }

    /// Reads a model written by [`Model::save`](cdimc_core::Model::save).
    ///
    /// # Errors
    /// If the file cannot be read, is not a mixture, or is truncated or changed.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, ClusterError> {
        archive::load(path.as_ref(), Self::from_bytes)
    }

    /// Reads a model from the content of a file.
    ///
    /// # Errors
    /// If the content is not a mixture, or is truncated or changed.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ClusterError> {
        let archive = Archive::from_bytes(Self::KIND, bytes)?;
        let Description { settings, findings, kinds } =
            serde_json::from_slice(&archive.list::<u8>("description")?)
                .map_err(|e| ClusterError::Model(format!("{}: {e}", Self::KIND)))?;
        let [exponent] = archive.list::<f64>("exponent")?[..] else {
            return Err(ClusterError::Model(format!("{}: it lacks a number", Self::KIND)));
        };
        let max_distances: Vec<f64> = archive.list("farthest")?;
        settings.check()?;
        let log_weights: Vec<f64> = archive.list("log-weights")?;
        let k = log_weights.len();
        let n_views = kinds.len();
        if k == 0 || n_views == 0 || max_distances.len() != n_views {
            return Err(archive.misfit());
        }
        let (mut projections, mut views, mut columns) = (Vec::new(), Vec::new(), Vec::new());
        let (mut directions_of, mut means_of) = (Vec::new(), Vec::new());
        for (v, &kind) in kinds.iter().enumerate() {
            let list = |name: &str| archive.list::<f64>(&format!("view{v}.{name}"));
            let matrix = |name: &str| archive.matrix::<f64>(&format!("view{v}.{name}"));
            let projection = projection_of(&archive, v, kind)?;
            let (d, q) = (projection.means.len(), projection.width());
            let column = ColumnMeans {
                all: list("mean-of-all")?,
                sds: list("spread")?,
                shrunk: matrix("shrunk-means")?,
                typical: typical_of(&archive, v)?,
            };
            let (means, whitening) = (list("means")?, list("whitening")?);
            let constants = list("constants")?;
            let (of_view, of_means) = (matrix("discriminant")?, matrix("discriminant-means")?);
            let fits = [&column.all, &column.sds].iter().all(|x| x.len() == d)
                && column.shrunk.dim() == (k, d)
                && column.typical.as_ref().is_none_or(|typical| {
                    typical.values.dim() == (3 * k, d) && typical.n_rows.len() == k
                })
                && means.len() == k * q
                && whitening.len() == k * q * (q + 1) / 2
                && constants.len() == k
                && of_view.nrows() == q
                && of_means.dim() == (k, of_view.ncols());
            if !fits {
                return Err(archive.misfit());
            }
            projections.push(projection);
            columns.push(column);
            views.push(Components::new(q, means, whitening, constants));
            directions_of.push(of_view);
            means_of.push(of_means);
        }
        if directions_of.iter().any(|a| a.ncols() != directions_of[0].ncols()) {
            return Err(archive.misfit());
        }
        // Older models have no sets, or limits of another kind.
        let set_limits = if archive.has("set-limits") {
            let mut sure: Vec<f64> = archive.list("set-limits")?;
            let unsure = sure.pop().filter(|_| sure.len() + 1 == n_views);
            unsure.map(|unsure| Limits { sure, unsure })
        } else {
            None
        };
        let association = if archive.has("association") {
            let total = views.iter().map(|view| view.width).sum();
            let loadings = (0..n_views).map(|v| archive.matrix(&format!("view{v}.loadings")));
            let association = Association {
                scales: archive.list("association-scales")?,
                covariance: archive.matrix("association")?,
                loadings: loadings.collect::<Result<_, _>>()?,
            };
            let of_views = association.loadings.iter().zip(views.iter().zip(&columns));
            let fits = association.scales.len() == n_views
                && association.covariance.dim() == (total, total)
                && of_views.into_iter().all(|(loadings, (view, column))| {
                    loadings.dim() == (view.width, column.all.len())
                });
            if !fits {
                return Err(archive.misfit());
            }
            Some(association)
        } else {
            None
        };
        Ok(Self {
            association,
            mixture: Mixture { nu: settings.degrees_of_freedom, log_weights, views },
            settings,
            projections,
            exponent,
            set_limits,
            max_distances,
            discriminant: Discriminant { directions: directions_of, means: means_of },
            standardizers: columns.iter().map(ColumnMeans::standardizer).collect(),
            columns,
            findings,
        })
    }
}

/// Adds the projection of view `v`.
pub(crate) fn put_projection(archive: &mut Archive, v: usize, projection: &Projection) {
    for (name, values) in [
        ("column-means", &projection.means),
        ("column-scales", &projection.scales),
        ("shift", &projection.shift),
        ("resolutions", &projection.resolutions),
    ] {
        archive.put(format!("view{v}.{name}"), values.iter().copied());
    }
    if let Some(scores) = &projection.scores {
        archive.put_matrix(format!("view{v}.quantiles"), scores.quantiles.view());
    }
    if let Some(directions) = &projection.directions {
        archive.put_matrix(format!("view{v}.directions"), directions.view());
    }
}

/// Reads the projection of view `v`, which has the given kind.
pub(crate) fn projection_of(
    archive: &Archive,
    v: usize,
    kind: Kind,
) -> Result<Projection, ClusterError> {
    let list = |name: &str| archive.list::<f64>(&format!("view{v}.{name}"));
    let matrix = |name: &str| archive.matrix::<f64>(&format!("view{v}.{name}"));
    let (means, scales, shift) = (list("column-means")?, list("column-scales")?, list("shift")?);
    let (d, q) = (means.len(), shift.len());
    let is_whole = q == d && !archive.has(&format!("view{v}.directions"));
    let directions = if is_whole { None } else { Some(matrix("directions")?) };
    let quantiles = if kind == Kind::Ranks { Some(matrix("quantiles")?) } else { None };
    // Only a fit needs resolutions; older models lack them.
    let known = archive.has(&format!("view{v}.resolutions"));
    let resolutions = if known { list("resolutions")? } else { vec![0.0; q] };
    let fits = q > 0
        && scales.len() == d
        && resolutions.len() == q
        && directions.as_ref().is_none_or(|a| a.dim() == (d, q))
        && quantiles.as_ref().is_none_or(|a| a.nrows() == d && a.ncols() > 0);
    if !fits {
        return Err(archive.misfit());
    }
    let scores = quantiles.map(NormalScores::new);
    let directions = directions.map(Arc::new);
    Ok(Projection { kind, scores, means, scales, directions, shift, resolutions })
}

/// Reads the typical values of view `v`; older models have none.
fn typical_of(archive: &Archive, v: usize) -> Result<Option<TypicalValues>, ClusterError> {
    if !archive.has(&format!("view{v}.typical")) {
        return Ok(None);
    }
    let values = archive.matrix(&format!("view{v}.typical"))?;
    Ok(Some(TypicalValues { values, n_rows: archive.list(&format!("view{v}.typical-rows"))? }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Coordinates;
    use crate::test_data::{complete, synthetic};
    use cdimc_core::Silent;
    use cdimc_data::Seed;

    #[test]
    fn a_model_of_large_values_is_read_again() {
        let dataset = synthetic(90, 1);
        let coordinates = Coordinates::Standard;
        let settings = TMixture { coordinates, starts: 2, ..TMixture::default() };
        let sds = |factor: f64| {
            let views: Vec<_> = dataset.views().iter().map(|x| x * factor).collect();
            let fitted = settings.fit(&complete(&views), 4, Seed::new(1), &Silent).unwrap();
            let bytes = fitted.model.unwrap().to_bytes().unwrap();
            MixtureModel::from_bytes(&bytes).unwrap().columns[0].sds.clone()
        };
        for (large, usual) in sds(1e200).iter().zip(sds(1.0)) {
            approx::assert_relative_eq!(*large, usual * 1e200, max_relative = 1e-9);
        }
    }
}
