//! Missing patterns, which select the views of each sample that are hidden.
//!
//! A rate of 0.3 has four meanings in the literature, so each pattern is named for what its rate counts.

use crate::removal::{
    keep_neighboring_views, keep_one_view, keep_random_views, remove_blocks, remove_cells,
    remove_per_view,
};
use crate::{DataError, Mechanism, Seed, ViewMask};
use ndarray::Array2;

/// A rule that selects the missing views of each sample; experiments and records use its text form.
///
/// Every mask leaves each sample a view and each view a sample, and has exactly the counts of the definition; an
/// impossible request is an error.
///
/// ```
/// use cdimc_data::{MissingPattern, Seed};
/// let pattern: MissingPattern = "per-view:0.3".parse()?;
/// let mask = pattern.mask(2000, 5, Seed::new(0))?;
/// assert_eq!(mask.n_observed(4), 1400);
/// assert_eq!(
///     "per-view:0.7".parse::<MissingPattern>()?.mask(2000, 2, Seed::new(0)).unwrap_err().to_string(),
///     "cannot remove 70 % of the instances from each of 2 views: every sample must keep a view, \
///      so at most 50 % can be removed on average"
/// );
/// # Ok::<(), cdimc_data::DataError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum MissingPattern {
    /// Nothing is missing. Text: `complete`.
    Complete,
    /// Every view misses `⌊rate · n⌋` random samples (paper, section 4.1). Text: `per-view:0.3`.
    PerView(f64),
    /// `round(ratio · n)` random samples keep every view; the others keep one view, split evenly over the views (paper,
    /// section 4.1, MNIST). Text: `paired:0.5`.
    PairedRatio(f64),
    /// `n - round((1 - rate) · n)` random samples are incomplete (imml's `Amputer`).
    /// Text: `incomplete:0.3:mem`.
    IncompleteSamples {
        /// Fraction of incomplete samples.
        rate: f64,
        /// Rule for the missing views of an incomplete sample.
        mechanism: Mechanism,
    },
    /// Of all n·l (sample, view) cells, `round((1 - rate) · n · l)` remain: one random view per sample and random other
    /// cells (CPM-Nets). Text: `cells:0.3`.
    Cells(f64),
    /// Like [`MissingPattern::PerView`], with one rate per view. Text: `per-view:0.1,0.3,0.5`.
    PerViewRates(Vec<f64>),
    /// Every view misses `⌊rate · n⌋` consecutive samples, cyclically; the blocks of the views follow each other in random
    /// order from a random start. Text: `blocks:0.3`.
    Blocks(f64),
    /// Every sample keeps this number of random views. Text: `random-views:2`.
    RandomViews(usize),
    /// Cohorts with neighboring views: random samples, split evenly, have views 0 and 1, others 1 and 2, and so on.
    /// Text: `chain`.
    Chain,
    /// Like [`MissingPattern::Chain`], with one more cohort that has the last and the first view.
    /// Text: `ring`.
    Ring,
    /// A given mask. Text: `given:` and the rows of the mask, such as `given:11,10,01`.
    Given(ViewMask),
}

impl MissingPattern {
    /// Returns a mask of this pattern; the same seed gives the same mask.
    ///
    /// Random numbers are xoshiro256++ from the stream `"mask"` of the seed.
    ///
    /// # Errors
    /// If there is no sample or view, a rate is out of range, the number of rates differs from the number of views, a sample
    /// or a view would keep nothing, or a given mask has another shape.
    pub fn mask(
        &self,
        n_samples: usize,
        n_views: usize,
        seed: Seed,
    ) -> Result<ViewMask, DataError> {
        if n_views == 0 {
            return Err(DataError::NoViews);
        }
        if n_samples == 0 {
            return Err(DataError::NoSamples);
        }
        self.check()?;
        let needed = match self {
            Self::RandomViews(kept) => *kept,
            Self::PairedRatio(_) | Self::IncompleteSamples { .. } | Self::Chain => 2,
            // With two views every cohort of a ring would be complete.
            Self::Ring => 3,
            _ => 1,
        };
        if n_views < needed {
            let needs = format!("the missing pattern {self} needs at least {needed}");
            return Err(DataError::Other(format!("views = {n_views}: {needs}")));
        }
        let rng = &mut seed.stream("mask").rng();
        let mut observed = Array2::from_elem((n_samples, n_views), true);
        let to = &mut observed;
        match self {
            Self::Complete => {}
            Self::PerView(rate) => remove_per_view(to, &vec![*rate; n_views], rng)?,
            Self::PerViewRates(rates) if rates.len() != n_views => {
                return Err(DataError::Other(format!(
                    "rates = {}, views = {n_views}: one rate is needed for each view",
                    rates.len()
                )));
            }
            Self::PerViewRates(rates) => remove_per_view(to, rates, rng)?,
            Self::Blocks(rate) => remove_blocks(to, &vec![*rate; n_views], rng)?,
            Self::Cells(rate) => remove_cells(to, *rate, rng)?,
            Self::RandomViews(kept) => keep_random_views(to, *kept, rng),
            Self::Chain => keep_neighboring_views(to, n_views - 1, rng),
            Self::Ring => keep_neighboring_views(to, n_views, rng),
            Self::PairedRatio(ratio) => {
                let n_incomplete = n_samples - (ratio * n_samples as f64).round() as usize;
                // The last views take the remainder: with two views, round(n/2) samples lose the first one, as in the authors'
                // survey code.
                keep_one_view(to, |view| (n_incomplete + view) / n_views, rng);
            }
            Self::IncompleteSamples { rate, mechanism } => {
                let n_complete = ((1.0 - rate) * n_samples as f64).round_ties_even() as usize;
                mechanism.remove(to, n_samples - n_complete, rng);
            }
            Self::Given(mask) => {
                mask.check_shape(n_samples, n_views)?;
                return Ok(mask.clone());
            }
        }
        ViewMask::new(observed).map_err(|error| match error {
            DataError::ViewWithoutSample { view } => {
                DataError::EmptiedView { pattern: self.to_string(), view, n_samples }
            }
            error => error,
        })
    }

    /// Checks the ranges of the rates.
    pub(crate) fn check(&self) -> Result<(), DataError> {
        let range = DataError::check_range;
        let below_one =
            |rate: f64| range("missing rate", rate, (0.0..1.0).contains(&rate), "[0, 1)");
        let up_to_one =
            |name, share: f64| range(name, share, (0.0..=1.0).contains(&share), "[0, 1]");
        match self {
            Self::Complete | Self::Given(_) | Self::Chain | Self::Ring => Ok(()),
            Self::RandomViews(kept) => {
                range("views of a sample", *kept as f64, *kept > 0, "[1, all views]")
            }
            Self::PerView(rate) | Self::Blocks(rate) | Self::Cells(rate) => below_one(*rate),
            Self::PerViewRates(rates) => rates.iter().try_for_each(|&rate| below_one(rate)),
            Self::PairedRatio(ratio) => up_to_one("paired ratio", *ratio),
            Self::IncompleteSamples { rate, .. } => up_to_one("share of incomplete samples", *rate),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MaskReport;
    use proptest::prelude::*;

    fn draw(pattern: &str, n_samples: usize, n_views: usize) -> Result<ViewMask, DataError> {
        pattern.parse::<MissingPattern>()?.mask(n_samples, n_views, Seed::new(7))
    }

    fn message(pattern: &str, n_samples: usize, n_views: usize) -> String {
        draw(pattern, n_samples, n_views).unwrap_err().to_string()
    }

    #[test]
    fn counts_are_met_exactly_up_to_the_largest_feasible_rate() {
        for (pattern, n_samples, present) in [
            ("per-view:0.1", 2000, &[1800; 5][..]),
            ("per-view:0.3", 2000, &[1400; 5]),
            ("per-view:0.5", 2000, &[1000; 5]),
            ("per-view:0.7", 2000, &[600; 5]),
            // 0.29 * 100 lies below 29 in binary.
            ("per-view:0.29", 100, &[71; 3]),
            ("per-view:0.5", 1000, &[500; 2]),
            ("per-view:0.66", 1000, &[340; 3]),
            ("per-view:0.75", 1000, &[250; 4]),
            ("per-view:0.8", 1000, &[200; 5]),
            ("per-view:0.9,0,0.9", 50, &[5, 50, 5]),
        ] {
            let mask = draw(pattern, n_samples, present.len()).unwrap();
            assert_eq!(MaskReport::new(&mask).observed, present, "{pattern}");
        }
    }

    // The ten 30 % masks of the authors have 62/271/614/712/341 samples with 1/2/3/4/5 views.
    #[test]
    fn samples_by_number_of_views_resemble_the_masks_of_the_authors() {
        let profile = MaskReport::new(&draw("per-view:0.3", 2000, 5).unwrap()).samples_by_views;
        for (found, authors) in profile[1..].iter().zip([62.0_f64, 271.0, 614.0, 712.0, 341.0]) {
            assert!((*found as f64 - authors).abs() < 4.0 * authors.sqrt(), "{profile:?}");
        }
    }

    #[test]
    fn infeasible_requests_give_the_reason() {
        for (pattern, n_views, request, percent) in [
            ("per-view:0.7", 2, "70 % of the instances from each of 2 views", "50"),
            ("blocks:0.7", 2, "70 % of the instances from each of 2 views", "50"),
            ("per-view:0.7", 3, "70 % of the instances from each of 3 views", "66.67"),
            ("per-view:0.9,0.2", 2, "90, 20 % of the instances from 2 views", "50"),
            ("cells:0.6", 2, "60 % of the cells of 2 views", "50"),
            ("per-view:0.1", 1, "10 % of the instances from 1 view", "0"),
        ] {
            let expected = format!(
                "cannot remove {request}: every sample must keep a view, so at most {percent} % can be removed on average"
            );
            assert_eq!(message(pattern, 100, n_views), expected);
        }
        assert!(matches!(
            draw("per-view:0.7", 2000, 2).unwrap_err(),
            DataError::Infeasible { requested_removals: 2800, max_removals: 2000, .. }
        ));
    }

    #[test]
    fn impossible_requests_name_the_rule_and_the_value() {
        for (pattern, n_samples, n_views, expected) in [
            ("per-view:1.2", 10, 2, "missing rate = 1.2: must lie in [0, 1)"),
            ("per-view:NaN", 10, 2, "missing rate = NaN: must lie in [0, 1)"),
            ("cells:1", 10, 2, "missing rate = 1: must lie in [0, 1)"),
            ("paired:-0.1", 10, 2, "paired ratio = -0.1: must lie in [0, 1]"),
            ("incomplete:2:pm", 10, 2, "share of incomplete samples = 2: must lie in [0, 1]"),
            ("per-view:0.1,0.2", 10, 3, "rates = 2, views = 3: one rate is needed for each view"),
            ("complete", 0, 2, "samples = 0: at least one sample is needed"),
            ("complete", 10, 0, "views = 0: at least one view is needed"),
            ("paired:0.5", 10, 1, "views = 1: the missing pattern paired:0.5 needs at least 2"),
            (
                "random-views:4",
                10,
                3,
                "views = 3: the missing pattern random-views:4 needs at least 4",
            ),
            ("random-views:0", 10, 3, "views of a sample = 0: must lie in [1, all views]"),
            ("ring", 10, 2, "views = 2: the missing pattern ring needs at least 3"),
            ("chain", 10, 1, "views = 1: the missing pattern chain needs at least 2"),
            (
                "ring",
                2,
                4,
                "missing pattern ring hides view 3 from all 2 samples: every view needs at least one",
            ),
            (
                "incomplete:1:mem",
                2,
                3,
                "missing pattern incomplete:1:mem hides view 0 from all 2 samples: every view needs at least one",
            ),
            (
                "given:10,01",
                2,
                3,
                "mask is 2 x 2, data is 2 x 3 (samples x views): they must agree",
            ),
        ] {
            assert_eq!(message(pattern, n_samples, n_views), expected);
        }
    }

    #[test]
    fn blocks_are_cyclically_consecutive() {
        let mask = draw("blocks:0.3", 100, 3).unwrap();
        for view in 0..3 {
            let observed: Vec<bool> = mask.entries().column(view).to_vec();
            let edges = (0..100).filter(|&i| observed[i] != observed[(i + 1) % 100]).count();
            assert_eq!((edges, mask.n_observed(view)), (2, 70));
        }
    }

    #[test]
    fn every_sample_keeps_the_requested_number_of_views() {
        let report = MaskReport::new(&draw("random-views:2", 1000, 5).unwrap());
        assert_eq!(report.samples_by_views, [0, 0, 1000, 0, 0, 0]);
        // All ten pairs occur, each 100 times on average.
        assert_eq!(report.patterns.len(), 10);
        assert!(report.patterns.iter().all(|(_, count)| (60..150).contains(count)), "{report:?}");
        assert_eq!(MaskReport::new(&draw("random-views:3", 40, 3).unwrap()).n_complete(), 40);
    }

    #[test]
    fn cohorts_have_neighboring_views_and_equal_sizes() {
        for (pattern, cohorts) in [
            ("chain", vec![[0, 1], [1, 2], [2, 3]]),
            ("ring", vec![[0, 1], [0, 3], [1, 2], [2, 3]]),
        ] {
            let mask = draw(pattern, 1001, 4).unwrap();
            let mut counts = std::collections::BTreeMap::<Vec<usize>, usize>::new();
            for row in mask.entries().outer_iter() {
                *counts.entry((0..4).filter(|&v| row[v]).collect()).or_default() += 1;
            }
            assert!(counts.keys().eq(cohorts.iter()), "{counts:?}");
            let sizes = counts.values().map(|&size| size.abs_diff(1001 / cohorts.len()));
            assert!(sizes.max() <= Some(1), "{counts:?}");
            // Cohorts are not runs of consecutive rows.
            let first: Vec<usize> = (0..100).filter(|&i| mask.is_observed(i, 0)).collect();
            assert!(first.last() > Some(&50) && first.len() < 90, "{first:?}");
        }
    }

    #[test]
    fn the_same_seed_draws_the_same_mask_and_another_seed_another() {
        let patterns = "per-view:0.4 paired:0.2 cells:0.5 blocks:0.3 incomplete:0.5:mcar \
                        incomplete:0.5:pm random-views:2 chain ring";
        for pattern in patterns.split(' ') {
            let mask = |seed| {
                pattern.parse::<MissingPattern>().unwrap().mask(60, 3, Seed::new(seed)).unwrap()
            };
            assert_eq!(mask(1), mask(1), "{pattern}");
            assert_ne!(mask(1), mask(2), "{pattern}");
        }
    }

    proptest! {
        #[test]
        fn exact_counts_and_a_view_for_every_sample_or_infeasible(
            n in 1_usize..40,
            absent in prop::collection::vec(0.0_f64..1.0, 1..6),
            seed: u64,
        ) {
            let counts: Vec<usize> = absent.iter().map(|p| (p * n as f64) as usize).collect();
            let rates: Vec<f64> = counts.iter().map(|&count| count as f64 / n as f64).collect();
            let feasible = counts.iter().sum::<usize>() <= n * (absent.len() - 1);
            match MissingPattern::PerViewRates(rates).mask(n, counts.len(), Seed::new(seed)) {
                Ok(mask) => {
                    let present: Vec<usize> = counts.iter().map(|count| n - count).collect();
                    prop_assert!(feasible);
                    prop_assert_eq!(MaskReport::new(&mask).observed, present);
                }
                Err(DataError::Infeasible { .. }) => prop_assert!(!feasible),
                Err(error) => prop_assert!(false, "{}", error),
            }
        }

        #[test]
        fn blocks_are_feasible_whenever_random_removal_is(
            n in 1_usize..60, l in 1_usize..6, rate in 0.0_f64..1.0, seed: u64,
        ) {
            let random = MissingPattern::PerView(rate).mask(n, l, Seed::new(seed));
            let blocks = MissingPattern::Blocks(rate).mask(n, l, Seed::new(seed));
            prop_assert_eq!(random.is_ok(), blocks.is_ok());
            if let (Ok(random), Ok(blocks)) = (random, blocks) {
                let expected = MaskReport::new(&random).observed;
                prop_assert_eq!(MaskReport::new(&blocks).observed, expected);
                let counts: Vec<usize> = (0..n).map(|i| blocks.n_views_of(i)).collect();
                let spread = counts.iter().max().unwrap() - counts.iter().min().unwrap();
                prop_assert!(spread <= 1);
            }
        }

        #[test]
        fn cells_are_counted_exactly(
            n in 20_usize..80, l in 2_usize..5, rate in 0.0_f64..1.0, seed: u64,
        ) {
            let kept = ((1.0 - rate) * (n * l) as f64).round() as usize;
            match MissingPattern::Cells(rate).mask(n, l, Seed::new(seed)) {
                Ok(mask) => {
                    prop_assert_eq!((0..l).map(|v| mask.n_observed(v)).sum::<usize>(), kept);
                }
                Err(DataError::Infeasible { .. }) => prop_assert!(kept < n),
                // With few cells a view can happen to get no sample.
                Err(DataError::EmptiedView { .. }) => prop_assert!(kept < 2 * n),
                Err(error) => prop_assert!(false, "{}", error),
            }
        }

        #[test]
        fn the_share_of_incomplete_samples_is_exact(
            n in 40_usize..80, l in 2_usize..5, rate in 0.0_f64..0.9, seed: u64, which in 0_usize..4,
        ) {
            let incomplete = n - ((1.0 - rate) * n as f64).round_ties_even() as usize;
            let mechanism = Mechanism::ALL[which];
            let pattern = MissingPattern::IncompleteSamples { rate, mechanism };
            let mask = pattern.mask(n, l, Seed::new(seed)).unwrap();
            prop_assert_eq!(n - MaskReport::new(&mask).n_complete(), incomplete);
        }

        #[test]
        fn paired_samples_are_exact_and_the_rest_is_split_evenly(
            n in 40_usize..80, l in 2_usize..5, ratio in 0.1_f64..=1.0, seed: u64,
        ) {
            let mask = MissingPattern::PairedRatio(ratio).mask(n, l, Seed::new(seed)).unwrap();
            let report = MaskReport::new(&mask);
            let paired = (ratio * n as f64).round() as usize;
            prop_assert_eq!(report.n_complete(), paired);
            prop_assert_eq!(report.samples_by_views[1], n - paired);
            let most = report.observed.iter().max().unwrap();
            prop_assert!(most - report.observed.iter().min().unwrap() <= 1);
        }
    }
}
