//! Whether a training lost what it began with.

use super::{Sign, Warning};
use cdimc_core::Curve;

/// What views share is told to so many decimals of a nat, and less is no loss.
const LEAST: f64 = 0.01;

/// Whether the views share less under the clusters of a training than under those that it went on from, where it recorded both.
pub fn less_shared(curves: &[Curve]) -> Option<Warning> {
    let curve = curves.iter().find(|curve| curve.name == "shared-information")?;
    let (&last, first) = curve.values.split_last()?;
    let first = first.iter().copied().reduce(f64::max)?;
    (first - last >= LEAST).then(|| Warning {
        sign: Sign::LessShared,
        text: format!(
            "the views share {last:.2} nats under these clusters, and {first:.2} under those that fine-tuning began with"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_under_which_views_share_less_than_at_the_beginning_are_told_of() {
        let found = |values: &[f64]| {
            let curve = Curve { name: "shared-information".into(), values: values.to_vec() };
            less_shared(&[curve]).map(|warning| warning.text)
        };
        let text = "the views share 5.10 nats under these clusters, and 5.30 under those that fine-tuning began with";
        assert_eq!(found(&[5.0, 5.3, 5.1]).unwrap(), text);
        assert_eq!(found(&[5.0, 5.1, 5.3]), None);
        assert_eq!(found(&[5.301, 5.3]), None);
        assert_eq!(less_shared(&[]), None, "nothing was recorded");
    }
}
