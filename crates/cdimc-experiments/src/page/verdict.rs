//! What became of each published number.

use crate::published::Number;
use crate::table::Summary;
use std::fmt;

/// Why a published number cannot be compared with ours: the paper took it from another paper.
pub(super) const COPIED: &[&str] = &["pmvc-cgan"];

/// How our number compares with the paper's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Verdict {
    /// The means differ by at most two of the paper's standard deviations.
    Reproduced,
    Above,
    Below,
    NotComparable,
    /// Ours is a mean over some of the masks.
    Unfinished,
    NotRun,
}

impl Verdict {
    /// All, in the order in which they are counted.
    pub(super) const ALL: [Self; 6] = [
        Self::Reproduced,
        Self::Above,
        Self::Below,
        Self::NotComparable,
        Self::Unfinished,
        Self::NotRun,
    ];

    /// Of our mean against the paper's number for a method that has `all` runs.
    pub(super) fn of(method: &str, ours: Option<Summary>, paper: Number, all: usize) -> Self {
        let Some(ours) = ours else { return Self::NotRun };
        if ours.n < all {
            return Self::Unfinished;
        }
        if COPIED.contains(&method) {
            return Self::NotComparable;
        }
        let Some(deviation) = paper.deviation else { return Self::NotComparable };
        let difference = ours.mean - paper.mean;
        // Both are printed with two decimals.
        if difference.abs() <= 2.0 * deviation + 0.005 {
            Self::Reproduced
        } else if difference > 0.0 {
            Self::Above
        } else {
            Self::Below
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reproduced => "reproduced",
            Self::Above => "above",
            Self::Below => "below",
            Self::NotComparable => "not comparable",
            Self::Unfinished => "unfinished",
            Self::NotRun => "not run",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_deviations_of_the_paper_decide() {
        let paper = Number { mean: 90.0, deviation: Some(1.5) };
        let verdict = |mean| Verdict::of("daimc", Summary::of(&[mean]), paper, 1);
        assert_eq!([92.9, 87.1].map(verdict), [Verdict::Reproduced; 2]);
        assert_eq!([93.1, 86.9].map(verdict), [Verdict::Above, Verdict::Below]);
        assert_eq!(Verdict::of("daimc", None, paper, 1), Verdict::NotRun);
        let ours = Summary::of(&[90.0]);
        assert_eq!(Verdict::of("pmvc-cgan", ours, paper, 1), Verdict::NotComparable);
        assert_eq!(Verdict::of("daimc", ours, paper, 2), Verdict::Unfinished);
        let copied = Number { mean: 90.0, deviation: None };
        assert_eq!(Verdict::of("daimc", ours, copied, 1), Verdict::NotComparable);
    }
}
