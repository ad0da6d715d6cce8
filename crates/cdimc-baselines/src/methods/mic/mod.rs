//! MIC: multiple incomplete views clustering by weighted nonnegative factorization.
//!
//! W. Shao, L. He, P. S. Yu, ECML PKDD 2015, DOI 10.1007/978-3-319-23528-8_20; update rules of the
//! first author's code, Multi-Incomplete-view-Clustering.

pub(crate) mod view;

use crate::shared::clusters_of_rows::ReadOut;
use crate::shared::linear_algebra::uniform;
use crate::shared::observed_rows::Nonnegative;
use crate::shared::settings::{counts, not_finite, require_views, settings};
use cdimc_core::{
    ClusterError, Clusterer, Fitted, Observer,
    check::{not_negative, positive, setting},
};
use cdimc_data::{MultiView, Seed};
use ndarray::{Array2, Axis};
use view::{Factors, View, consensus_of, sample_without_weight};

settings! {
    /// Weighted nonnegative factorization of every view with a common consensus U*.
    ///
    /// Minimizes Σᵥ ‖Cᵥ (Xᵥ - Uᵥ Bᵥᵀ)‖² + α ‖Cᵥ (Uᵥ - U*)‖² + β ‖Uᵥ‖₂,₁ over nonnegative factors, then clusters the
    /// rows of U* by k-means. Gaps hold the mean of the observed rows, with a weight c below 1; every view sums to 1.
    /// Any number of views, any mask; negative values are first made nonnegative. A sweep needs O(Σᵥ (mᵥ dᵥ + n k) k)
    /// operations for mᵥ observed rows in view v, since all gaps share one row. Memory is linear in n.
    pub struct Mic {
        /// Weight α of the consensus, positive. Default of the authors' driver of OMVC.
        pub alpha: f64 = 1e-2,
        /// Weight β of the row sparsity. Default of the authors' driver of OMVC. It depends on the scale of the data,
        /// which have sum 1 here.
        pub beta: f64 = 1e-7,
        /// Number of rounds: each computes a consensus, then sweeps every view. The only known driver uses 30.
        pub rounds: usize = 15,
        /// Number of sweeps per view and round. The only known driver uses 100.
        pub sweeps: usize = 50,
        /// Number of initial cycles over the views; each factorization starts from the coefficients of the previous
        /// view. Default of the authors' code.
        pub cycles: usize = 3,
        /// Number of sweeps of an initial factorization.
        pub initial_sweeps: usize = 100,
        /// Weight c of the gaps, in [0, 1]; by default the share of samples observed in the view.
        pub missing_weight: Option<f64> = None,
        /// Method that makes views nonnegative.
        pub nonnegative: Nonnegative = Nonnegative::UnitShift,
        /// Number of starts of the final k-means. Default of the authors' code.
        pub restarts: usize = 20,
    }
}

impl Mic {
    pub(crate) fn prepare(&self, data: &MultiView) -> Vec<View> {
        (0..data.n_views()).map(|v| View::new(self, data, v)).collect()
    }

    /// Returns the initial factors of the first author's code: consecutive plain factorizations of the filled views,
    /// each from the coefficients of the last and a random basis.
    fn first_factors(
        &self,
        views: &[View],
        k: usize,
        seed: Seed,
        observer: &dyn Observer,
    ) -> Result<Vec<Factors>, ClusterError> {
        let mut rng = seed.stream("factors").rng();
        let mut factors: Vec<Factors> = Vec::with_capacity(views.len());
        // Coefficients in the caller's order, passed from view to view.
        let mut last: Option<Array2<f64>> = None;
        for cycle in 0..self.cycles {
            factors.clear();
            for view in views {
                observer.step("first factors", cycle, self.cycles, None)?;
                let mut b = uniform((view.x.ncols(), k), &mut rng);
                let lengths = (&b * &b).sum_axis(Axis(0)).mapv(f64::sqrt);
                b /= &lengths;
                let u = match &last {
                    Some(u) => u.select(Axis(0), &view.order),
                    None => {
                        let u = uniform((view.order.len(), k), &mut rng);
                        let total = u.sum();
                        u / total
                    }
                };
                let found = view.plain_factors(Factors { u, b }, self.initial_sweeps);
                last = Some(view.restore(&found.u));
                factors.push(found);
            }
        }
        Ok(factors)
    }

    /// Runs all rounds on `factors` and returns the last consensus, `(n_samples, n_clusters)`.
    pub(crate) fn iterate(
        &self,
        views: &[View],
        factors: &mut [Factors],
        observer: &dyn Observer,
    ) -> Result<Array2<f64>, ClusterError> {
        let mut consensus = consensus_of(views, factors);
        for round in 0..self.rounds {
            for (view, factors) in views.iter().zip(factors.iter_mut()) {
                observer.step("factors", round, self.rounds, None)?;
                let target = consensus.select(Axis(0), &view.order);
                view.sweep(factors, &target, self);
            }
            consensus = consensus_of(views, factors);
            if !consensus.iter().all(|x| x.is_finite()) {
                return Err(not_finite("mic", format_args!("round {}", round + 1)));
            }
        }
        Ok(consensus)
    }
}

impl Clusterer for Mic {
    fn name(&self) -> &'static str {
        "mic"
    }

    fn check(&self) -> Result<(), ClusterError> {
        positive("alpha", self.alpha)?;
        not_negative("beta", self.beta)?;
        if let Some(weight) = self.missing_weight {
            let within = (0.0..=1.0).contains(&weight);
            setting("missing-weight", weight, "must lie in [0, 1]", |_| within)?;
        }
        let all = [("rounds", self.rounds), ("sweeps", self.sweeps), ("cycles", self.cycles)];
        counts(&all, self.restarts)
    }

    fn run(
        &self,
        data: &MultiView,
        n_clusters: usize,
        seed: Seed,
        observer: &dyn Observer,
    ) -> Result<Fitted, ClusterError> {
        let mut views = self.prepare(data);
        // Coefficients of 0 fit a view of zeros and would shrink the coefficients of the other views.
        views.retain(|view| !view.is_zero());
        require_views(&views, self.name())?;
        if let Some(sample) = sample_without_weight(&views) {
            let reason = format!(
                "made nonnegative, the views of sample {sample} are 0 throughout, and its gaps in the \
                 others have no weight: set missing-weight above 0"
            );
            return Err(ClusterError::Inapplicable { method: self.name(), reason });
        }
        let mut factors = self.first_factors(&views, n_clusters, seed, observer)?;
        let embedding = self.iterate(&views, &mut factors, observer)?;
        let read_out = ReadOut::new(n_clusters, self.restarts, seed, observer);
        Ok(read_out.scaled_to_largest_entry(embedding)?.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::observed_rows::tests::two_groups;

    #[test]
    fn a_sample_without_weight_is_refused_by_number() {
        let mut observed = two_groups().view(0).mapv(|x| if x.is_nan() { 0.0 } else { x });
        observed.row_mut(7).fill(f64::NAN);
        let views = vec![Array2::zeros((40, 3)), observed];
        let data = MultiView::from_nan_rows(views).unwrap();
        let cluster = |missing_weight| {
            Mic { missing_weight, ..Mic::default() }.cluster(&data, 2, Seed::new(1))
        };
        assert_eq!(
            cluster(Some(0.0)).unwrap_err().to_string(),
            "mic does not apply: made nonnegative, the views of sample 7 are 0 throughout, and its gaps in \
             the others have no weight: set missing-weight above 0"
        );
        // The view of zeros is ignored.
        assert!(cluster(Some(0.1)).is_ok() && cluster(None).is_ok());
    }
}
