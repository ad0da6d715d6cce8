//! Kernel matrices of the observed samples of a view, centered and with unit diagonal, and the iteration of the methods
//! that use them.

use super::linear_algebra::product;
use super::observed_rows::unit_rows;
use super::settings::require;
use cdimc_core::{ClusterError, Observer};
use cdimc_data::{MultiView, unit_of};
use ndarray::{Array1, Array2, Axis};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Squared distances from the mean below this share of the largest squared length are rounding errors.
const RELATIVE_ROUNDING: f64 = 1e-12;

/// Similarity of two samples of one view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kernel {
    /// xᵀx'.
    #[default]
    Linear,
    /// exp(-‖x - x'‖² / 2σ²), σ the mean distance between two different samples.
    Gaussian,
    /// (xᵀx' + 1)².
    Quadratic,
}

/// Scaling of a view's features before the kernel, from observed rows only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum KernelScaling {
    /// Scales every row to unit length.
    #[default]
    UnitRows,
    /// Scales every feature to mean 0 and standard deviation 1; constant features become 0.
    Standard,
    /// No scaling.
    None,
}

impl Kernel {
    /// Returns the kernel between the rows of `x` `(n_observed, n_features)`, centered in its feature space and scaled
    /// to unit diagonal, `(n_observed, n_observed)`.
    ///
    /// K ← K - 1rᵀ - r1ᵀ + mean(r) with the column means r; then `K_ij` / √(`K_ii` `K_jj`). The row of a sample at the
    /// mean, up to rounding, is 0. All entries are NaN if one overflows, which is possible with
    /// [`KernelScaling::None`].
    pub(crate) fn between(self, x: &Array2<f64>, scaling: KernelScaling) -> Array2<f64> {
        let x = scaling.apply(x);
        let mut k = product(x.view(), x.t());
        let overflows = |k: &Array2<f64>| !k.iter().all(|x| x.is_finite());
        let too_large = overflows(&k);
        match self {
            Self::Linear => {}
            Self::Quadratic => k.mapv_inplace(|inner| (inner + 1.0).powi(2)),
            Self::Gaussian => gaussian(&mut k),
        }
        let greatest = k.diag().iter().copied().fold(0.0, f64::max);
        center(&mut k);
        if too_large || overflows(&k) {
            k.fill(f64::NAN);
            return k;
        }
        let rounding = RELATIVE_ROUNDING * greatest;
        let factor = |x: f64| if x > rounding { 1.0 / x.sqrt() } else { 0.0 };
        let (roots, factors) = (k.diag().mapv(f64::sqrt), k.diag().mapv(factor));
        for (i, mut row) in k.outer_iter_mut().enumerate() {
            for (j, x) in row.iter_mut().enumerate() {
                *x = if factors[i] * factors[j] > 0.0 { *x / (roots[i] * roots[j]) } else { 0.0 };
            }
        }
        k
    }
}

impl KernelScaling {
    fn apply(self, x: &Array2<f64>) -> Array2<f64> {
        let mut x = x.clone();
        match self {
            Self::None => {}
            Self::UnitRows => unit_rows(&mut x),
            Self::Standard => {
                for mut column in x.columns_mut() {
                    column /= unit_of(column.iter().copied());
                    let n = column.len() as f64;
                    let mean = column.sum() / n;
                    column -= mean;
                    let deviation = (column.iter().map(|x| x * x).sum::<f64>() / n).sqrt();
                    column /= if deviation < 1e-12 { 1.0 } else { deviation };
                }
            }
        }
        x
    }
}

/// Turns inner products into the Gaussian kernel.
fn gaussian(k: &mut Array2<f64>) {
    let n = k.nrows();
    let squares: Array1<f64> = k.diag().to_owned();
    let mut sum = 0.0;
    for (i, mut row) in k.outer_iter_mut().enumerate() {
        for (j, x) in row.iter_mut().enumerate() {
            *x = if i == j { 0.0 } else { (squares[i] + squares[j] - 2.0 * *x).max(0.0) };
            sum += x.sqrt();
        }
    }
    let width = sum / (n * (n - 1)).max(1) as f64;
    // If all samples are equal, distances are 0 and similarities 1.
    let scale = if width > 0.0 { -0.5 / (width * width) } else { 0.0 };
    k.mapv_inplace(|distance| (scale * distance).exp());
}

fn center(k: &mut Array2<f64>) {
    let n = k.nrows();
    let means = k.sum_axis(Axis(0)) / n as f64;
    let mean = means.sum() / n as f64;
    for (i, mut row) in k.outer_iter_mut().enumerate() {
        let shift = mean - means[i];
        row.zip_mut_with(&means, |x, other| *x += shift - other);
    }
}

/// Returns the kernel of every view between its observed samples, in ascending order.
///
/// # Errors
/// [`ClusterError::Inapplicable`] if those kernels and `n_square` matrices of all samples need more than `max_bytes`,
/// or a kernel overflows.
pub(crate) fn observed_kernels(
    method: &'static str,
    data: &MultiView,
    (kernel, scaling): (Kernel, KernelScaling),
    n_square: usize,
    max_bytes: u64,
) -> Result<Vec<Array2<f64>>, ClusterError> {
    check_bytes(method, kernel_bytes(data, n_square), max_bytes)?;
    let block = |v: usize| {
        let block = kernel.between(&data.observed(v), scaling);
        require(!block[[0, 0]].is_nan(), method, || {
            format!(
                "the values of view {v} are so large that their kernel overflows: set scaling to \
                 unit-rows or standard"
            )
        })?;
        Ok(block)
    };
    (0..data.n_views()).map(block).collect()
}

/// Returns the bytes of the kernels of all views and of `n_square` matrices of all samples.
pub(crate) fn kernel_bytes(data: &MultiView, n_square: usize) -> u64 {
    let square = |n: usize| 8 * (n as u64).pow(2);
    let blocks: u64 = (0..data.n_views()).map(|v| square(data.mask().n_observed(v))).sum();
    blocks + n_square as u64 * square(data.n_samples())
}

/// Checks the memory of an n-by-n method before any allocation.
pub(crate) fn check_bytes(
    method: &'static str,
    bytes: u64,
    max_bytes: u64,
) -> Result<(), ClusterError> {
    require(bytes <= max_bytes, method, || {
        format!("its n-by-n matrices need {bytes} bytes, more than max-bytes = {max_bytes}")
    })
}

/// Result of the iteration of [`MkkmIkMkc`](crate::MkkmIkMkc) or [`MkkmIk`](crate::MkkmIk).
#[derive(Debug, Clone)]
pub(crate) struct KernelPartition {
    /// H, `(n_samples, n_clusters)`, orthonormal columns.
    pub embedding: Array2<f64>,
    /// γ, the weight of the kernel of every informative view, on the simplex.
    #[cfg_attr(not(test), expect(dead_code, reason = "compared with the reference"))]
    pub weights: Vec<f64>,
    /// The objective after every iteration.
    pub objectives: Vec<f64>,
}

/// Returns the views whose kernel is not all 0. A kernel of zeros has no unexplained part and would get all the weight.
pub(crate) fn informative_views(
    method: &'static str,
    blocks: &[Array2<f64>],
) -> Result<Vec<usize>, ClusterError> {
    let informative = |&view: &usize| blocks[view].iter().any(|&x| x != 0.0);
    let views: Vec<usize> = (0..blocks.len()).filter(informative).collect();
    require(!views.is_empty(), method, || "no view has two rows that differ".to_owned())?;
    Ok(views)
}

/// Repeats `step` until the last iteration, or after three until the relative change of the objective is below
/// `tolerance` (authors' code). It gets the objectives so far and returns embedding, weights and objective.
pub(crate) fn alternate(
    (max_iterations, tolerance): (usize, f64),
    observer: &dyn Observer,
    mut step: impl FnMut(&[f64]) -> Result<(Array2<f64>, Vec<f64>, f64), ClusterError>,
) -> Result<KernelPartition, ClusterError> {
    let mut objectives = Vec::new();
    loop {
        let (embedding, weights, objective) = step(&objectives)?;
        objectives.push(objective);
        observer.step("kernels", objectives.len(), max_iterations, Some(objective))?;
        let settled = match objectives[..] {
            [_, .., before, now] => (before - now).abs() < tolerance * now.abs(),
            _ => false,
        };
        if settled || objectives.len() >= max_iterations {
            return Ok(KernelPartition { embedding, weights, objectives });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_abs_diff_eq;
    use ndarray::array;

    #[test]
    fn kernels_are_centered_with_unit_diagonal_and_finite_for_a_constant_view() {
        let x = array![[1.0, 2.0], [0.5, -1.0], [3.0, 0.1], [-2.0, 1.0]];
        for kernel in [Kernel::Linear, Kernel::Gaussian, Kernel::Quadratic] {
            for scaling in [KernelScaling::UnitRows, KernelScaling::Standard, KernelScaling::None] {
                let k = kernel.between(&x, scaling);
                assert_abs_diff_eq!(k.diag().to_owned(), Array1::ones(4), epsilon = 1e-12);
                assert_abs_diff_eq!(k, k.t().to_owned(), epsilon = 1e-15);
                let constant = kernel.between(&Array2::from_elem((5, 3), 0.1), scaling);
                assert!(constant.iter().all(|x| x.is_finite()));
            }
        }
        let mut k = product(x.view(), x.t());
        center(&mut k);
        assert_abs_diff_eq!(k.sum_axis(Axis(1)), Array1::zeros(4), epsilon = 1e-12);
    }

    #[test]
    fn a_kernel_that_overflows_is_refused_with_advice() {
        let x = array![[1.0, 2.0], [0.5, -1.0], [3.0, 0.1], [-2.0, 1.0]] * 1e200;
        let data = MultiView::from_nan_rows(vec![Array2::ones((4, 1)), x]).unwrap();
        for kernel in [Kernel::Linear, Kernel::Gaussian, Kernel::Quadratic] {
            let kernels =
                |scaling| observed_kernels("mkkm-ik", &data, (kernel, scaling), 5, 1 << 20);
            assert_eq!(
                kernels(KernelScaling::None).unwrap_err().to_string(),
                "mkkm-ik does not apply: the values of view 1 are so large that their kernel overflows: \
                 set scaling to unit-rows or standard"
            );
            assert!(kernels(KernelScaling::UnitRows).is_ok());
            assert!(kernels(KernelScaling::Standard).is_ok());
        }
    }

    #[test]
    fn too_much_memory_is_refused_before_allocation() {
        let error = check_bytes("mkkm-ik", 10_000, 9_999).unwrap_err();
        assert_eq!(
            error.to_string(),
            "mkkm-ik does not apply: its n-by-n matrices need 10000 bytes, more than max-bytes = 9999"
        );
    }
}
