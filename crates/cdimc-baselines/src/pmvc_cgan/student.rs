//! Student's t assignments of latents to centers, their sharpened selves, and the divergence of the two.

use super::passes::{pull, squared_distance};

/// `q_ij` ∝ 1 / (1 + ‖`z_i` - `μ_j`‖²), rows of sum 1: `(n, k)` from latents `(n, width)` and centers `(k, width)`.
pub(super) fn soft_assignment(latents: &[f32], centers: &[f32], width: usize) -> Vec<f32> {
    let mut q = Vec::with_capacity(latents.len() / width * (centers.len() / width));
    for z in latents.chunks_exact(width) {
        let start = q.len();
        q.extend(centers.chunks_exact(width).map(|center| similarity(z, center)));
        scale_to_one(&mut q[start..]);
    }
    q
}

/// p ∝ q² / f, f the sum of q over samples, rows of sum 1.
pub(super) fn sharpened(q: &[f32], n_clusters: usize) -> Vec<f32> {
    let mut sums = vec![0.0; n_clusters];
    for q in q.chunks_exact(n_clusters) {
        sums.iter_mut().zip(q).for_each(|(sum, q)| *sum += q);
    }
    let mut p = q.to_vec();
    for p in p.chunks_exact_mut(n_clusters) {
        p.iter_mut().zip(&sums).for_each(|(p, sum)| *p *= *p / sum);
        scale_to_one(p);
    }
    p
}

/// The mean of p (ln p - ln q) over all entries, p the `target`: the authors' framework averages over
/// clusters, so this is the divergence divided by k. Its gradients are added to those of latents and centers.
pub(super) fn divergence(
    [latents, centers]: [&[f32]; 2],
    [q, target]: [&[f32]; 2],
    width: usize,
    [by_latents, by_centers]: [&mut [f32]; 2],
) -> f64 {
    let n_clusters = centers.len() / width;
    let share = 1.0 / q.len() as f32;
    let mut sum = 0.0;
    let rows = latents.chunks_exact(width).zip(by_latents.chunks_exact_mut(width));
    let assigned = q.chunks_exact(n_clusters).zip(target.chunks_exact(n_clusters));
    for ((z, by_z), (q, p)) in rows.zip(assigned) {
        let centers = centers.chunks_exact(width).zip(by_centers.chunks_exact_mut(width));
        for ((center, by_center), (&q, &p)) in centers.zip(q.iter().zip(p)) {
            sum += f64::from(p * (p.clamp(1e-12, 1.0).ln() - q.ln()));
            // Twice the derivative by the squared distance; rows of p sum to 1.
            let slope = 2.0 * share * similarity(z, center) * (p - q);
            pull(z, center, slope, by_z, by_center);
        }
    }
    sum * f64::from(share)
}

fn similarity(z: &[f32], center: &[f32]) -> f32 {
    1.0 / (1.0 + squared_distance(z, center))
}

fn scale_to_one(row: &mut [f32]) {
    let sum: f32 = row.iter().sum();
    row.iter_mut().for_each(|x| *x /= sum);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn soft_assignments_are_those_of_student() {
        let q = soft_assignment(&[0.0, 0.0, 1.0, 0.0], &[0.0, 0.0, 0.0, 1.0], 2);
        // Squared distances 0, 1 and 1, 2.
        for (found, expected) in q.iter().zip([2.0 / 3.0, 1.0 / 3.0, 0.6, 0.4]) {
            assert!((found - expected).abs() < 1e-6, "{found} {expected}");
        }
    }

    #[test]
    fn sharpening_squares_and_makes_clusters_equal() {
        let p = sharpened(&[0.5, 0.5, 1.0, 0.0], 2);
        // q² / f: 1/6, 1/2 and 2/3, 0.
        for (found, expected) in p.iter().zip([0.25, 0.75, 1.0, 0.0]) {
            assert!((found - expected).abs() < 1e-6, "{found} {expected}");
        }
    }
}
