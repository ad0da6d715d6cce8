//! The four missing mechanisms of imml's `Amputer` (imml 0.6.0).

use crate::removal::keep_one_view;
use ndarray::Array2;
use rand::Rng;
use rand::seq::index;
use std::fmt;

/// How the missing views of an incomplete sample are drawn, with the names of imml's `Amputer`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mechanism {
    /// Mutually exclusive missing: each incomplete sample keeps one view; the samples are split evenly over the views.
    Mem,
    /// Missing completely at random: a fair coin keeps or removes each view; if all or none are kept, one random view
    /// is flipped.
    Mcar,
    /// Missing not at random: a sample draws how many views it loses, in `1..l`; all samples with the same number lose
    /// the same random views.
    Mnar,
    /// Partial missing: a number in `1..l` of views is drawn once. Incomplete samples lose only these, by coins as in
    /// [`Mechanism::Mcar`], or always if it is a single view.
    Pm,
}

impl Mechanism {
    /// All mechanisms.
    pub const ALL: [Self; 4] = [Self::Mem, Self::Mcar, Self::Mnar, Self::Pm];

    /// Makes `n_incomplete` random samples of a complete mask incomplete.
    pub(crate) fn remove(self, mask: &mut Array2<bool>, n_incomplete: usize, rng: &mut impl Rng) {
        let (n_samples, n_views) = mask.dim();
        let rows = index::sample(rng, n_samples, n_incomplete).into_vec();
        let views_at_risk = |rng: &mut _, n| index::sample(rng, n_views, n).into_vec();
        match self {
            Self::Mem => {
                let share = n_incomplete / n_views;
                let last = n_incomplete - share * (n_views - 1);
                let kept = |view| if view + 1 == n_views { last } else { share };
                keep_one_view(mask, kept, rng);
            }
            Self::Mcar => {
                let all: Vec<usize> = (0..n_views).collect();
                for row in rows {
                    flip_coins(mask, row, &all, rng);
                }
            }
            Self::Mnar => {
                let lost: Vec<_> = (1..n_views).map(|n_lost| views_at_risk(rng, n_lost)).collect();
                for row in rows {
                    let n_lost = rng.gen_range(1..n_views);
                    for &view in &lost[n_lost - 1] {
                        mask[[row, view]] = false;
                    }
                }
            }
            Self::Pm => {
                let n_lost = rng.gen_range(1..n_views);
                let lost = views_at_risk(rng, n_lost);
                for row in rows {
                    match lost[..] {
                        [view] => mask[[row, view]] = false,
                        _ => flip_coins(mask, row, &lost, rng),
                    }
                }
            }
        }
    }
}

impl fmt::Display for Mechanism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mem => "mem",
            Self::Mcar => "mcar",
            Self::Mnar => "mnar",
            Self::Pm => "pm",
        })
    }
}

/// Keeps or removes each of `views` of one sample by a fair coin; if all or none are kept, one random view of them is
/// flipped.
fn flip_coins(mask: &mut Array2<bool>, row: usize, views: &[usize], rng: &mut impl Rng) {
    let mut n_kept = 0;
    for &view in views {
        mask[[row, view]] = rng.gen_bool(0.5);
        n_kept += usize::from(mask[[row, view]]);
    }
    if n_kept == 0 || n_kept == views.len() {
        let view = views[rng.gen_range(0..views.len())];
        mask[[row, view]] = n_kept == 0;
    }
}

#[cfg(test)]
mod tests {
    use crate::{MaskReport, MissingPattern, Seed, ViewMask};
    use std::collections::BTreeSet;

    #[test]
    fn each_mechanism_follows_its_definition() {
        let (n, l) = (400, 4);
        let draw = |pattern: &str, seed| {
            pattern.parse::<MissingPattern>().unwrap().mask(n, l, Seed::new(seed)).unwrap()
        };
        let mem = draw("incomplete:0.3:mem", 7);
        assert_eq!(MaskReport::new(&mem).samples_by_views, vec![0, 120, 0, 0, 280]);
        assert!((0..l).all(|view| mem.n_observed(view) == 280 + 30));

        let lost = |mask: &ViewMask| -> BTreeSet<Vec<bool>> {
            let rows = mask.entries();
            rows.outer_iter().map(|row| row.to_vec()).filter(|row| row.contains(&false)).collect()
        };
        // All samples that lose the same number of views lose the same ones.
        let mnar = lost(&draw("incomplete:0.5:mnar", 7));
        let sizes: Vec<_> = mnar.iter().map(|row| row.iter().filter(|&&o| !o).count()).collect();
        assert_eq!(sizes.iter().collect::<BTreeSet<_>>().len(), sizes.len());
        // Fair coins give all incomplete combinations of four views.
        assert_eq!(lost(&draw("incomplete:0.9:mcar", 7)).len(), 14);
        for seed in 0..20 {
            let pm = draw("incomplete:0.5:pm", seed);
            let at_risk = (0..l).filter(|&view| pm.n_observed(view) < n).count();
            assert!((1..l).contains(&at_risk));
            assert_eq!(lost(&pm).len(), if at_risk == 1 { 1 } else { (1 << at_risk) - 2 });
        }
    }
}
