//! Student's t assignments of latents to centers, their target distribution, and the divergence of the two.

use candle_core::{Result, Tensor};

/// Returns `q_ij` ∝ 1 / (1 + ‖`z_i` - `μ_j`‖²) with rows of sum 1, `(n, k)`, from latents `(n, width)` and centers `(k,
/// width)`.
pub(super) fn soft_assignment(latents: &Tensor, centers: &Tensor) -> Result<Tensor> {
    let lengths = latents.sqr()?.sum_keepdim(1)?;
    let center_lengths = centers.sqr()?.sum_keepdim(1)?.t()?;
    let products = latents.matmul(&centers.t()?)?.affine(-2.0, 1.0)?;
    scale_to_one(&products.broadcast_add(&lengths)?.broadcast_add(&center_lengths)?.recip()?)
}

/// Returns the target p ∝ q² / f with rows of sum 1, where f is the sum of q over samples.
pub(super) fn target_distribution(q: &Tensor) -> Result<Tensor> {
    scale_to_one(&q.sqr()?.broadcast_div(&q.sum_keepdim(0)?)?)
}

/// Returns the mean of p (ln p - ln q) over all entries, p the `target`. The authors' framework averages over clusters,
/// so this is the divergence divided by k.
pub(super) fn divergence(q: &Tensor, target: &Tensor) -> Result<Tensor> {
    (target * (target.clamp(1e-12, 1.0)?.log()? - q.log()?)?)?.mean_all()
}

fn scale_to_one(rows: &Tensor) -> Result<Tensor> {
    rows.broadcast_div(&rows.sum_keepdim(1)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use candle_core::Device;

    fn assert_close(found: &Tensor, expected: [[f32; 2]; 2]) {
        let found = found.to_vec2::<f32>().unwrap();
        for (found, expected) in found.iter().flatten().zip(expected.iter().flatten()) {
            assert!((found - expected).abs() < 1e-6, "{found} {expected}");
        }
    }

    #[test]
    fn soft_assignments_follow_students_t() {
        let latents = Tensor::new(&[[0.0_f32, 0.0], [1.0, 0.0]], &Device::Cpu).unwrap();
        let centers = Tensor::new(&[[0.0_f32, 0.0], [0.0, 1.0]], &Device::Cpu).unwrap();
        // Squared distances 0, 1 and 1, 2.
        assert_close(
            &soft_assignment(&latents, &centers).unwrap(),
            [[2.0 / 3.0, 1.0 / 3.0], [0.6, 0.4]],
        );
    }

    #[test]
    fn the_target_squares_assignments_and_makes_clusters_equal() {
        let q = Tensor::new(&[[0.5_f32, 0.5], [1.0, 0.0]], &Device::Cpu).unwrap();
        // q² / f: 1/6, 1/2 and 2/3, 0.
        assert_close(&target_distribution(&q).unwrap(), [[0.25, 0.75], [1.0, 0.0]]);
    }

    #[test]
    fn the_divergence_of_a_target_from_itself_is_zero() {
        let tensor = |x: [f32; 2]| Tensor::new(&[x], &Device::Cpu).unwrap();
        let divergence =
            |q, p| divergence(&tensor(q), &tensor(p)).unwrap().to_scalar::<f32>().unwrap();
        assert_eq!(divergence([0.25, 0.75], [0.25, 0.75]), 0.0);
        // ln 2 over two clusters.
        assert!((divergence([0.5, 0.5], [1.0, 0.0]) - 0.5 * 2.0_f32.ln()).abs() < 1e-6);
    }
}
