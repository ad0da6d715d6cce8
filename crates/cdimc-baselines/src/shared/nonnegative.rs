//! Ways to make a view nonnegative for a factorization that needs it.

use super::observed_rows::{Observed, unit_rows};
use ndarray::Axis;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Method that makes a view nonnegative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Nonnegative {
    /// Sets negative values to 0 (the OMVC authors' driver).
    Clip,
    /// Scales rows to unit length, then subtracts the smallest value of the view if it is negative.
    UnitShift,
    /// Scales every column to [0, 1] over the observed rows; constant columns become 0.
    MinMax,
}

impl Nonnegative {
    /// Applies the method to the observed rows of a view.
    pub(crate) fn apply(self, view: &mut Observed) {
        match self {
            Self::Clip => view.x.mapv_inplace(|x| x.max(0.0)),
            Self::UnitShift => {
                unit_rows(&mut view.x);
                let least = view.x.iter().copied().fold(0.0, f64::min);
                view.x -= least;
            }
            Self::MinMax => {
                let fold = |start, pick: fn(f64, f64) -> f64| {
                    view.x.fold_axis(Axis(0), start, |&best, &x| pick(best, x))
                };
                let (low, high) = (fold(f64::INFINITY, f64::min), fold(-f64::INFINITY, f64::max));
                let range = (&high - &low).mapv(|range| if range > 0.0 { range } else { 1.0 });
                view.x -= &low;
                view.x /= &range;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cdimc_data::MultiView;
    use ndarray::array;

    #[test]
    fn every_method_gives_nonnegative_values() {
        let x = array![[-3.0, 4.0], [f64::NAN, f64::NAN], [1.0, 4.0], [0.0, 0.0]];
        let data = MultiView::from_nan_rows(vec![x, array![[1.0], [1.0], [1.0], [1.0]]]).unwrap();
        let applied = |how: Nonnegative| {
            let mut view = Observed::raw(&data, 0);
            how.apply(&mut view);
            view.x
        };
        assert_eq!(applied(Nonnegative::Clip), array![[0.0, 4.0], [1.0, 4.0], [0.0, 0.0]]);
        assert_eq!(applied(Nonnegative::MinMax), array![[0.0, 1.0], [1.0, 1.0], [0.75, 0.0]]);
        let shifted = applied(Nonnegative::UnitShift);
        approx::assert_abs_diff_eq!(shifted.row(0), array![0.0, 1.4], epsilon = 1e-15);
        approx::assert_abs_diff_eq!(shifted.row(2), array![0.6, 0.6], epsilon = 1e-15);
    }
}
