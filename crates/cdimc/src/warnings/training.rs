//! A warning about a training that lost shared information.

use super::{LEAST_SHARED, Sign, Warning};
use cdimc_core::Curve;

/// Returns a warning if the shared information under the final clusters is clearly below its largest value before them.
pub(crate) fn less_shared(curves: &[Curve]) -> Option<Warning> {
    let curve = curves.iter().find(|curve| curve.name == "shared-information")?;
    let (&last, first) = curve.values.split_last()?;
    let first = first.iter().copied().reduce(f64::max)?;
    (first - last >= LEAST_SHARED).then(|| Warning {
        sign: Sign::LessShared,
        text: format!(
            "fine-tuning made these clusters worse: the views share {last:.2} nats under them, and {first:.2} before"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_of_shared_information_is_a_warning() {
        let found = |values: &[f64]| {
            let curve = Curve { name: "shared-information".into(), values: values.to_vec() };
            less_shared(&[curve]).map(|warning| warning.text)
        };
        let text = "fine-tuning made these clusters worse: the views share 5.10 nats under them, and 5.30 before";
        assert_eq!(found(&[5.0, 5.3, 5.1]).unwrap(), text);
        assert_eq!(found(&[5.0, 5.1, 5.3]), None);
        assert_eq!(found(&[5.36, 5.3]), None);
        assert_eq!(less_shared(&[]), None, "nothing was recorded");
    }
}
