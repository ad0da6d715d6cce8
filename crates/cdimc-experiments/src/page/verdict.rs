//! What became of each published number.

use crate::table::Summary;
use std::fmt;

/// Smallest and largest difference in points that two standard deviations stand for: a paper's small SD makes no
/// difference of 3 points a failure, and a large one no difference of more than 5 a success.
const TOLERANCE: [f64; 2] = [3.0, 5.0];

/// How our number compares with the paper's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Verdict {
    /// The means differ by at most the tolerance.
    Reproduced,
    Above,
    Below,
    NotComparable,
    /// Ours is a mean over some of the masks.
    Unfinished,
    NotRun,
}

impl Verdict {
    /// Of our mean against the paper's number for a method that has `all` runs.
    pub(super) fn of(ours: Option<Summary>, paper: Summary, all: usize) -> Self {
        let Some(ours) = ours else { return Self::NotRun };
        if ours.n < all {
            return Self::Unfinished;
        }
        // The paper took numbers without a deviation from another paper.
        let Some(deviation) = paper.deviation else { return Self::NotComparable };
        let difference = ours.mean - paper.mean;
        let [least, most] = TOLERANCE;
        // Both are printed with two decimals.
        if difference.abs() <= (2.0 * deviation).clamp(least, most) + 0.005 {
            Self::Reproduced
        } else if difference > 0.0 {
            Self::Above
        } else {
            Self::Below
        }
    }

    /// The verdict in words, and as a sign beside a number; no sign without a comparison.
    fn shown(self) -> (&'static str, &'static str) {
        match self {
            Self::Reproduced => ("reproduced", "✓"),
            Self::Above => ("above", "▲"),
            Self::Below => ("below", "▼"),
            Self::NotComparable => ("not comparable", ""),
            Self::Unfinished => ("unfinished", ""),
            Self::NotRun => ("not run", ""),
        }
    }

    pub(super) fn sign(self) -> &'static str {
        self.shown().1
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.shown().0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_deviations_of_the_paper_decide_from_3_to_5_points() {
        let paper = Summary::printed(&[90.0, 2.0]);
        let verdict = |mean| Verdict::of(Summary::of([mean]), paper, 1);
        assert_eq!([93.9, 86.1].map(verdict), [Verdict::Reproduced; 2]);
        assert_eq!([94.1, 85.9].map(verdict), [Verdict::Above, Verdict::Below]);
        for (deviation, least, most) in [(0.1, 2.9, 3.1), (10.0, 4.9, 5.1)] {
            let paper = Summary::printed(&[90.0, deviation]);
            let off = |points| Verdict::of(Summary::of([90.0 - points]), paper, 1);
            assert_eq!([least, most].map(off), [Verdict::Reproduced, Verdict::Below]);
        }
        assert_eq!(Verdict::of(None, paper, 1), Verdict::NotRun);
        let ours = Summary::of([90.0]);
        assert_eq!(Verdict::of(ours, paper, 2), Verdict::Unfinished);
        let copied = Summary::printed(&[90.0]);
        assert_eq!(Verdict::of(ours, copied, 1), Verdict::NotComparable);
    }
}
