//! Seeded synthetic data: Gaussian clusters in a few hidden factors, mapped to views at random.

use crate::{DataError, Dataset, Seed};
use ndarray::{Array2, Axis};
use rand::Rng;
use rand::seq::{SliceRandom, index};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

/// Settings of a synthetic data set; [`SyntheticViews::generate`] draws it.
///
/// Sample i of cluster k has the hidden factors `f_i = separation · c_k + ε`, with centers `c_k` and `ε` standard normal.
/// A linear view is `f A + noise · ε`, a nonlinear one `tanh(f A / s) B + noise · ε` with `s = sqrt(n_factors)`. `A` and
/// `B` are standard normal and differ between views.
///
/// ```
/// use cdimc_data::{Seed, SyntheticViews};
/// let data = SyntheticViews { n_samples: 60, ..SyntheticViews::default() }.generate(Seed::new(1))?;
/// assert_eq!((data.n_samples(), data.n_views(), data.n_classes()), (60, 3, 4));
/// # Ok::<(), cdimc_data::DataError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct SyntheticViews {
    /// Number of samples.
    pub n_samples: usize,
    /// Number of clusters; their sizes differ by at most one.
    pub n_clusters: usize,
    /// Number of hidden factors, shared by all views.
    pub n_factors: usize,
    /// Standard deviation (SD) of the cluster centers, in SD within a cluster.
    pub separation: f64,
    /// Number of features and kind of each view.
    pub views: Vec<SyntheticView>,
    /// Standard deviation of the noise of each feature.
    pub noise: f64,
    /// Fraction of outliers per view, rounded down; their features are noise with ten times the standard deviation of the
    /// view.
    pub outliers: f64,
}

/// One synthetic view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SyntheticView {
    /// Number of features.
    pub width: usize,
    /// Map from hidden factors to features.
    pub map: SyntheticMap,
}

/// Map from hidden factors to the features of a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SyntheticMap {
    /// Random linear map.
    Linear,
    /// Random linear map, tanh, and another random linear map.
    Nonlinear,
}

impl Default for SyntheticViews {
    /// 300 samples in 4 clusters with 5 factors: a linear view of 12 features, a nonlinear one of 7, a linear one of 20;
    /// 2 % outliers.
    fn default() -> Self {
        let view = |width, map| SyntheticView { width, map };
        Self {
            n_samples: 300,
            n_clusters: 4,
            n_factors: 5,
            separation: 3.0,
            views: vec![
                view(12, SyntheticMap::Linear),
                view(7, SyntheticMap::Nonlinear),
                view(20, SyntheticMap::Linear),
            ],
            noise: 0.3,
            outliers: 0.02,
        }
    }
}

impl SyntheticViews {
    /// Draws the complete data set, in random order; the same seed gives the same bits.
    ///
    /// # Errors
    /// If a count is 0, there are fewer samples than clusters, or a rate or standard deviation is out of range.
    pub fn generate(&self, seed: Seed) -> Result<Dataset, DataError> {
        self.check()?;
        let seed = seed.stream("synthetic");
        let rng = &mut seed.stream("samples").rng();
        let mut labels: Vec<usize> = (0..self.n_samples).map(|i| i % self.n_clusters).collect();
        labels.shuffle(rng);
        let centers = normal_array((self.n_clusters, self.n_factors), rng);
        let factors = centers.select(Axis(0), &labels) * self.separation
            + normal_array((self.n_samples, self.n_factors), rng);
        let streams = (0..).map(|v| seed.stream("views").nth(v));
        let views = self.views.iter().zip(streams);
        let views = views.map(|(view, seed)| self.map_factors(*view, &factors, seed)).collect();
        Dataset::new("synthetic", views, Some(labels))
    }

    /// Returns the features of `view` for the factors `(n_samples, n_factors)`.
    fn map_factors(&self, view: SyntheticView, factors: &Array2<f64>, seed: Seed) -> Array2<f64> {
        let rng = &mut seed.rng();
        let n_factors = self.n_factors;
        let mut x = match view.map {
            SyntheticMap::Linear => factors.dot(&normal_array((n_factors, view.width), rng)),
            SyntheticMap::Nonlinear => {
                let inner = normal_array((n_factors, 2 * n_factors), rng);
                let outer = normal_array((2 * n_factors, view.width), rng);
                let hidden = factors.dot(&inner) / (n_factors as f64).sqrt();
                hidden.mapv_into(f64::tanh).dot(&outer)
            }
        };
        x += &(normal_array(x.dim(), rng) * self.noise);
        let width = 10.0 * x.std(0.0);
        let n_outliers = (self.outliers * self.n_samples as f64 + 1e-9) as usize;
        for sample in index::sample(rng, self.n_samples, n_outliers) {
            x.row_mut(sample)
                .assign(&(normal_array((1, view.width), rng).row(0).mapv(|z| z * width)));
        }
        x
    }

    fn check(&self) -> Result<(), DataError> {
        if self.n_samples == 0 {
            return Err(DataError::NoSamples);
        }
        if self.views.is_empty() {
            return Err(DataError::NoViews);
        }
        if let Some(view) = self.views.iter().position(|view| view.width == 0) {
            return Err(DataError::NoFeatures { view });
        }
        let range = DataError::check_range;
        let (k, factors) = (self.n_clusters, self.n_factors);
        range("clusters", k as f64, (1..=self.n_samples).contains(&k), "[1, samples]")?;
        range("factors", factors as f64, factors > 0, "[1, ..)")?;
        for (name, value) in [("separation", self.separation), ("noise", self.noise)] {
            range(name, value, value.is_finite() && value >= 0.0, "[0, inf)")?;
        }
        range("outliers", self.outliers, (0.0..1.0).contains(&self.outliers), "[0, 1)")
    }
}

/// Returns a draw of the standard normal distribution (Box and Muller).
pub fn standard_normal(rng: &mut impl Rng) -> f64 {
    // 1 - u lies in (0, 1], so its logarithm is finite.
    let radius = (-2.0 * (1.0 - rng.gen_range(0.0..1.0_f64)).ln()).sqrt();
    radius * (std::f64::consts::TAU * rng.gen_range(0.0..1.0_f64)).cos()
}

fn normal_array(shape: (usize, usize), rng: &mut Xoshiro256PlusPlus) -> Array2<f64> {
    Array2::from_shape_simple_fn(shape, || standard_normal(rng))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean squared distance of pairs within one cluster, and of pairs in different clusters.
    fn spread(view: &Array2<f64>, labels: &[usize]) -> (f64, f64) {
        let (mut within, mut between) = ((0.0, 0.0), (0.0, 0.0));
        for (i, j) in (0..labels.len()).flat_map(|i| (0..i).map(move |j| (i, j))) {
            let distance = (&view.row(i) - &view.row(j)).mapv(|x| x * x).sum();
            let to = if labels[i] == labels[j] { &mut within } else { &mut between };
            *to = (to.0 + distance, to.1 + 1.0);
        }
        (within.0 / within.1, between.0 / between.1)
    }

    #[test]
    fn every_view_shows_the_clusters() {
        let synthetic = SyntheticViews { outliers: 0.0, ..SyntheticViews::default() };
        for seed in 0..5 {
            let data = synthetic.generate(Seed::new(seed)).unwrap();
            for view in data.views() {
                let (within, between) = spread(view, data.labels().unwrap());
                assert!(between > 2.0 * within, "seed {seed}: {within} {between}");
            }
        }
        let mixed = SyntheticViews { separation: 0.0, ..synthetic }.generate(Seed::new(0)).unwrap();
        let (within, between) = spread(&mixed.views()[0], mixed.labels().unwrap());
        assert!((between / within - 1.0).abs() < 0.1, "{within} {between}");
    }

    #[test]
    fn cluster_sizes_differ_by_one_at_most() {
        let synthetic = SyntheticViews { n_samples: 11, ..SyntheticViews::default() };
        let data = synthetic.generate(Seed::new(3)).unwrap();
        let count = |k| data.labels().unwrap().iter().filter(|&&label| label == k).count();
        assert_eq!((0..4).map(count).collect::<Vec<_>>(), [3, 3, 3, 2]);
    }

    #[test]
    fn outliers_change_their_share_of_each_view_and_nothing_else() {
        let with = SyntheticViews { outliers: 0.1, ..SyntheticViews::default() };
        let without = SyntheticViews { outliers: 0.0, ..with.clone() };
        let seed = Seed::new(5);
        let (with, without) = (with.generate(seed).unwrap(), without.generate(seed).unwrap());
        let changed = |v: usize| -> Vec<usize> {
            let (a, b) = (&with.views()[v], &without.views()[v]);
            (0..300).filter(|&i| a.row(i) != b.row(i)).collect()
        };
        assert!((0..3).all(|v| changed(v).len() == 30));
        assert_ne!(changed(0), changed(1));
    }

    #[test]
    fn the_same_seed_gives_the_same_bits() {
        let draw = |seed| SyntheticViews::default().generate(Seed::new(seed)).unwrap();
        assert_eq!(draw(1).views(), draw(1).views());
        assert_eq!(draw(1).labels(), draw(1).labels());
        assert_ne!(draw(1).views(), draw(2).views());
    }

    #[test]
    fn normal_values_have_the_moments_of_their_distribution() {
        let z = normal_array((1000, 100), &mut Seed::new(0).rng());
        let moment = |power| z.mapv(|z: f64| z.powi(power)).mean().unwrap();
        // The tolerances are five standard errors of 100,000 draws.
        for (power, expected, tolerance) in
            [(1, 0.0, 0.016), (2, 1.0, 0.023), (3, 0.0, 0.062), (4, 3.0, 0.16)]
        {
            assert!((moment(power) - expected).abs() < tolerance, "{power}: {}", moment(power));
        }
    }

    #[test]
    fn settings_outside_their_range_are_errors() {
        type Case = (fn(&mut SyntheticViews), &'static str);
        let cases: [Case; 6] = [
            (|settings| settings.n_samples = 0, "samples = 0: at least one sample is needed"),
            (|settings| settings.views.clear(), "views = 0: at least one view is needed"),
            (|settings| settings.n_clusters = 301, "clusters = 301: must lie in [1, samples]"),
            (|settings| settings.n_factors = 0, "factors = 0: must lie in [1, ..)"),
            (|settings| settings.noise = f64::NAN, "noise = NaN: must lie in [0, inf)"),
            (|settings| settings.outliers = 1.0, "outliers = 1: must lie in [0, 1)"),
        ];
        for (change, expected) in cases {
            let mut synthetic = SyntheticViews::default();
            change(&mut synthetic);
            assert_eq!(synthetic.generate(Seed::new(0)).unwrap_err().to_string(), expected);
        }
    }
}
