//! EM over samples in parts that are never in memory together: in large files, or on several machines.
//!
//! An initial model is fitted to a subsample. Each part computes its sums under the model
//! ([`MixtureModel::pass_over`]); the sums of all parts give the next model ([`MixtureModel::after`]), until
//! convergence ([`Pass::settles`]). The remaining quantities are computed from the initial subsample
//! ([`MixtureModel::completed`]).

use crate::discriminant::Discriminant;
use crate::fitted::{Findings, MixtureModel};
use crate::model::Mixture;
use crate::model::em::TOLERANCE;
use crate::model::moments::{Moments, ViewMoments};
use crate::model::passes::expectation;
use crate::observations::{MIN_VARIANCE, Observations};
use cdimc_core::ClusterError;
use cdimc_core::archive::Archive;
use cdimc_data::{MultiView, Seed};

/// Sums of an EM iteration over a part: log-likelihood and input of the next M step. Passes can be added.
#[derive(Debug, Clone)]
pub struct Pass {
    n_samples: usize,
    log_likelihood: f64,
    moments: Moments,
    /// Sums per view, over its observed rows.
    coordinates: Vec<Sums>,
}

/// Sums over rows z, for the variances of a view's coordinates.
#[derive(Debug, Clone)]
struct Sums {
    n_observed: f64,
    /// `(q)`: `Σ z`.
    first: Vec<f64>,
    /// `(q)`: `Σ z²`.
    second: Vec<f64>,
}

impl Pass {
    const KIND: &'static str = "cdimc pass";

    /// Returns the number of samples.
    pub fn n_samples(&self) -> usize {
        self.n_samples
    }

    /// Returns the mean log-likelihood per sample in nats, up to a constant per view.
    pub fn mean_log_likelihood(&self) -> f64 {
        self.log_likelihood / self.n_samples.max(1) as f64
    }

    /// Returns the pairwise sum of passes under one model, or `None` without passes. The fixed order gives the same
    /// bits for any number of machines.
    ///
    /// # Errors
    /// If the passes belong to different models.
    pub fn sum(mut passes: Vec<Self>) -> Result<Option<Self>, ClusterError> {
        while passes.len() > 1 {
            let mut pairs = Vec::with_capacity(passes.len().div_ceil(2));
            let mut left = passes.into_iter();
            while let Some(mut first) = left.next() {
                if let Some(second) = left.next() {
                    first.add(&second)?;
                }
                pairs.push(first);
            }
            passes = pairs;
        }
        Ok(passes.pop())
    }

    fn add(&mut self, other: &Self) -> Result<(), ClusterError> {
        if self.shape() != other.shape() {
            return Err(unfit("two of them are not of one model"));
        }
        self.n_samples += other.n_samples;
        self.log_likelihood += other.log_likelihood;
        self.moments.add(1.0, &other.moments);
        for (to, from) in self.coordinates.iter_mut().zip(&other.coordinates) {
            to.n_observed += from.n_observed;
            to.first.iter_mut().zip(&from.first).for_each(|(to, x)| *to += x);
            to.second.iter_mut().zip(&from.second).for_each(|(to, x)| *to += x);
        }
        Ok(())
    }

    /// Returns whether EM has converged, given the pass of the previous model; the tolerance is the same as in
    /// memory.
    pub fn settles(&self, before: &Self) -> bool {
        (self.mean_log_likelihood() - before.mean_log_likelihood()).abs() < TOLERANCE
    }

    /// Returns the number of clusters and the widths of the views.
    fn shape(&self) -> (usize, Vec<usize>) {
        (self.moments.n_clusters(), self.moments.views.iter().map(|view| view.width).collect())
    }

    /// Returns the pass as bytes for another process.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn to_bytes(&self) -> Result<Vec<u8>, ClusterError> {
        let (_, widths) = self.shape();
        let mut archive = Archive::new(Self::KIND, &(self.n_samples, widths))?;
        archive.put("log-likelihood", [self.log_likelihood]);
        archive.put("sizes", self.moments.sizes.iter().copied());
        for (v, (moments, sums)) in self.moments.views.iter().zip(&self.coordinates).enumerate() {
            for (name, values) in [
                ("sizes", &moments.sizes),
                ("weights", &moments.weights),
                ("first", &moments.first),
                ("second", &moments.second),
                ("sum", &sums.first),
                ("sum-of-squares", &sums.second),
            ] {
                archive.put(format!("view{v}.{name}"), values.iter().copied());
            }
            archive.put(format!("view{v}.observed"), [sums.n_observed]);
        }
        archive.to_bytes()
    }

    /// Reads a pass from bytes.
    ///
    /// # Errors
    /// If the bytes are not a pass, or are truncated or changed.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ClusterError> {
        let archive = Archive::from_bytes(Self::KIND, bytes)?;
        let (n_samples, widths): (usize, Vec<usize>) = archive.description()?;
        let number = |name: &str| match archive.list::<f64>(name)?[..] {
            [number] => Ok(number),
            _ => Err(unfit("one lacks a number")),
        };
        let sizes: Vec<f64> = archive.list("sizes")?;
        let expected = Moments::zeros(sizes.len(), &widths);
        let (mut views, mut coordinates) = (Vec::new(), Vec::new());
        for (v, expected) in expected.views.iter().enumerate() {
            let list = |name: &str| archive.list::<f64>(&format!("view{v}.{name}"));
            let moments = ViewMoments {
                width: expected.width,
                sizes: list("sizes")?,
                weights: list("weights")?,
                first: list("first")?,
                second: list("second")?,
            };
            let n_observed = number(&format!("view{v}.observed"))?;
            let sums = Sums { n_observed, first: list("sum")?, second: list("sum-of-squares")? };
            let fits = moments.has_shape_of(expected)
                && sums.first.len() == expected.width
                && sums.second.len() == expected.width;
            if !fits {
                return Err(unfit("the arrays of one do not fit together"));
            }
            views.push(moments);
            coordinates.push(sums);
        }
        let log_likelihood = number("log-likelihood")?;
        Ok(Self { n_samples, log_likelihood, moments: Moments { sizes, views }, coordinates })
    }
}

impl Sums {
    fn of(observations: &Observations, v: usize) -> Self {
        let q = observations.widths[v];
        let mut sums = Self { n_observed: 0.0, first: vec![0.0; q], second: vec![0.0; q] };
        observations.each_row(v, |_, row| {
            sums.n_observed += 1.0;
            for ((first, second), x) in sums.first.iter_mut().zip(&mut sums.second).zip(row) {
                *first += x;
                *second += x * x;
            }
        });
        sums
    }

    /// Returns the variances over the rows.
    fn variances(&self) -> Vec<f64> {
        let n = self.n_observed.max(1.0);
        let variance = |(first, second): (&f64, &f64)| {
            let mean = first / n;
            (second / n - mean * mean).max(0.0) + MIN_VARIANCE
        };
        self.first.iter().zip(&self.second).map(variance).collect()
    }
}

impl MixtureModel {
    /// Computes the pass over `data`; view `v` of the data is view `views[v]` of the model.
    ///
    /// # Errors
    /// If the data do not have these views.
    pub fn pass_over(&self, data: &MultiView, views: &[usize]) -> Result<Pass, ClusterError> {
        let observations = self.observe(data, views)?;
        let (_, log_likelihood, moments) = expectation(&observations, &self.mixture);
        let coordinates = (0..observations.n_views()).map(|v| Sums::of(&observations, v));
        Ok(Pass {
            n_samples: observations.n_samples,
            log_likelihood,
            moments,
            coordinates: coordinates.collect(),
        })
    }

    /// Returns the model after the M step of a pass over all samples under this model.
    ///
    /// # Errors
    /// If the pass belongs to another model.
    pub fn after(&self, pass: &Pass) -> Result<Self, ClusterError> {
        let widths: Vec<usize> = self.mixture.views.iter().map(|view| view.width).collect();
        let shape = (self.mixture.n_clusters(), widths);
        if pass.shape() != shape {
            return Err(unfit("it is of another model"));
        }
        let all = Observations {
            n_samples: pass.n_samples,
            widths: shape.1,
            variances: pass.coordinates.iter().map(Sums::variances).collect(),
            resolutions: self.projections.iter().map(|p| p.resolutions.clone()).collect(),
            blocks: Vec::new(),
        };
        let (mixture, pooled) = Mixture::fit(&pass.moments, &all, &self.prior(), None);
        Ok(Self {
            discriminant: Discriminant::new(&mixture, &pooled),
            mixture,
            findings: Findings {
                log_likelihood: pass.log_likelihood,
                n_samples: pass.n_samples,
                ..self.findings.clone()
            },
            ..self.clone()
        })
    }

    /// Adds the quantities computed from a subsample: column means, limits of unusual rows, associations of views
    /// and the calibration. `searched` are the samples of the initial model, with all views.
    ///
    /// # Errors
    /// If the samples do not fit the model.
    pub fn completed(&self, searched: &MultiView, seed: Seed) -> Result<Self, ClusterError> {
        let views: Vec<usize> = (0..self.projections.len()).collect();
        let observations = self.observe(searched, &views)?;
        let responsibilities = self.responsibilities(&observations);
        Ok(self.clone().with_statistics(searched, &observations, &responsibilities, seed))
    }
}

fn unfit(why: &str) -> ClusterError {
    ClusterError::Model(format!("{}: {why}", Pass::KIND))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TMixture;
    use crate::test_data::{incomplete, synthetic};
    use cdimc_core::{Model, Silent};

    const VIEWS: [usize; 3] = [0, 1, 2];

    fn data() -> MultiView {
        incomplete(synthetic(1500, 1).views(), 2)
    }

    fn settings() -> TMixture {
        TMixture { starts: 4, search_samples: 400, ..TMixture::default() }
    }

    fn fitted(data: &MultiView) -> (Vec<usize>, MixtureModel) {
        let (fitted, clustering) = settings().train(data, 4, Seed::new(3), &Silent).unwrap();
        (clustering.labels, fitted.model)
    }

    fn parts_of(data: &MultiView, sizes: &[usize]) -> Vec<MultiView> {
        let mut start = 0;
        let part = |&size: &usize| {
            let rows: Vec<usize> = (start..start + size).collect();
            start += size;
            data.select_rows(&rows).unwrap()
        };
        sizes.iter().map(part).collect()
    }

    fn run(mut model: MixtureModel, parts: &[MultiView]) -> (MixtureModel, usize) {
        let mut last: Option<Pass> = None;
        for n_passes in 1.. {
            let passes = parts.iter().map(|part| model.pass_over(part, &VIEWS).unwrap()).collect();
            let pass = Pass::sum(passes).unwrap().unwrap();
            if last.as_ref().is_some_and(|last| pass.settles(last)) {
                return (model, n_passes);
            }
            model = model.after(&pass).unwrap();
            last = Some(pass);
        }
        unreachable!()
    }

    #[test]
    fn parts_end_where_a_fit_of_all_ends() {
        let data = data();
        let (labels, _) = fitted(&data);
        let searched = settings().searched(&data, Seed::new(3)).unwrap().part.unwrap();
        let (_, begun) = fitted(&searched);
        let (model, n_passes) = run(begun, &parts_of(&data, &[700, 1, 400, 399]));
        let model = model.completed(&searched, Seed::new(3)).unwrap();
        assert!(n_passes > 2, "{n_passes}");
        assert_eq!(model.predict_from(&data, &VIEWS).unwrap().labels, labels);
        assert_eq!(model.findings.n_samples, 1500);
        assert!(model.findings.shared_information.unwrap() > 0.0);
    }

    #[test]
    fn the_pass_over_all_samples_is_the_sum_of_the_parts() {
        let data = data();
        let (_, model) = fitted(&data);
        let pass = |part: &MultiView| model.pass_over(part, &VIEWS).unwrap();
        let passes: Vec<Pass> = parts_of(&data, &[512, 512, 300, 176]).iter().map(pass).collect();
        let sum = Pass::sum(passes.clone()).unwrap().unwrap();
        let whole = pass(&data);
        assert_eq!(sum.n_samples, whole.n_samples);
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * (1.0 + a.abs());
        assert!(near(sum.log_likelihood, whole.log_likelihood));
        for (sum, whole) in sum.moments.views.iter().zip(&whole.moments.views) {
            assert!(sum.second.iter().zip(&whole.second).all(|(a, b)| near(*a, *b)));
        }
        for (v, sums) in sum.coordinates.iter().enumerate() {
            let exact = &model.observe(&data, &VIEWS).unwrap().variances[v];
            assert!(sums.variances().iter().zip(exact).all(|(a, b)| near(*a, *b)));
        }
        // Neighbors first, as two machines with two parts each would add them.
        let [a, b, c, d] = passes.try_into().unwrap();
        let two = [Pass::sum(vec![a, b]), Pass::sum(vec![c, d])].map(|sum| sum.unwrap().unwrap());
        let bytes = Pass::sum(two.to_vec()).unwrap().unwrap().to_bytes().unwrap();
        assert_eq!(bytes, sum.to_bytes().unwrap());
        assert_eq!(Pass::from_bytes(&bytes).unwrap().to_bytes().unwrap(), bytes);
    }

    #[test]
    fn passes_of_other_models_and_damaged_ones_are_refused() {
        let data = data();
        let (_, model) = fitted(&data);
        let (other, _) = settings().train(&data, 3, Seed::new(3), &Silent).unwrap();
        let [ours, theirs] =
            [model.clone(), other.model].map(|model| model.pass_over(&data, &VIEWS).unwrap());
        assert!(model.after(&theirs).is_err());
        assert!(Pass::sum(vec![ours.clone(), theirs]).is_err());
        let mut bytes = ours.to_bytes().unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        assert!(Pass::from_bytes(&bytes).is_err());
        assert!(Pass::from_bytes(&model.to_bytes().unwrap()).is_err());
    }
}
