//! Normalized mutual information with a choice of normalizers.

use crate::MetricsError;
use crate::contingency::Contingency;
use serde::{Deserialize, Serialize};

/// Mean of the two entropies that normalizes the mutual information. Papers often omit it although values differ by
/// several points, so results name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NmiNormalizer {
    /// Arithmetic mean: scikit-learn since 0.22; equals the V-measure.
    #[default]
    Arithmetic,
    /// Geometric mean: Strehl and Ghosh 2002; scikit-learn before 0.22.
    Geometric,
    /// Larger entropy: `MutualInfo` of D. Cai, used in many MATLAB codes.
    Max,
    /// Smaller entropy.
    Min,
}

/// Returns the normalized mutual information, in `[0, 1]`; 1 for equal partitions.
///
/// NMI = I(y; c) / mean(H(y), H(c)), I = `Σ_ab N_ab/n · ln(n N_ab / (R_a C_b))`, with class sizes `R` and cluster sizes
/// `C`. Two partitions into one part are equal (1). A partition into one part and any other partition give 0.
///
/// ```
/// # use cdimc_metrics::{NmiNormalizer, nmi};
/// assert_eq!(nmi(&[0, 0, 1, 1], &[0, 1, 2, 3], NmiNormalizer::Max)?, 0.5);
/// # Ok::<(), cdimc_metrics::MetricsError>(())
/// ```
///
/// # Errors
/// If the numbers of labels differ or are 0.
pub fn nmi(
    truth: &[usize],
    found: &[usize],
    normalizer: NmiNormalizer,
) -> Result<f64, MetricsError> {
    Ok(of_table(&Contingency::new(truth, found)?, normalizer))
}

pub(crate) fn of_table(table: &Contingency, normalizer: NmiNormalizer) -> f64 {
    if table.is_identity() {
        return 1.0;
    }
    if table.classes.len() == 1 || table.clusters.len() == 1 {
        return 0.0;
    }
    let n = table.n_samples as f64;
    let entropy = |sizes: &[usize]| -> f64 {
        sizes.iter().map(|&size| size as f64 / n).map(|share| -share * share.ln()).sum()
    };
    let information: f64 = table
        .cells
        .iter()
        .map(|(&(class, cluster), &count)| {
            // Both products are exact, so independent labelings give exactly 0.
            let expected = table.class_sizes[class] as f64 * table.cluster_sizes[cluster] as f64;
            count as f64 / n * (n * count as f64 / expected).ln()
        })
        .sum();
    let (h_truth, h_found) = (entropy(&table.class_sizes), entropy(&table.cluster_sizes));
    let mean = match normalizer {
        NmiNormalizer::Arithmetic => f64::midpoint(h_truth, h_found),
        NmiNormalizer::Geometric => (h_truth * h_found).sqrt(),
        NmiNormalizer::Max => h_truth.max(h_found),
        NmiNormalizer::Min => h_truth.min(h_found),
    };
    (information / mean).clamp(0.0, 1.0)
}
