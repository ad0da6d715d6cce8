//! One view of OMVC: its filled rows, and projected quasi-Newton steps of coefficients and basis.

use super::{MissingWeight, Omvc};
use crate::shared::linear_algebra::{dot, inverse_positive_definite, product};
use crate::shared::observed_rows::Observed;
use cdimc_core::ClusterError;
use ndarray::{Array1, Array2, Axis, Zip};

/// Largest number of step lengths, each half of the last; the final one is kept (authors' code).
const MAX_TRIALS: usize = 252;
/// Smallest column sum of a basis (authors' code).
const SUM_FLOOR: f64 = 1e-20;

/// The running mean of the rows of a view.
///
/// A gap holds the mean of earlier rows. Without earlier rows it holds the first observed row of its chunk, or zeros if
/// there is none.
pub(super) struct Fill {
    sum: Array1<f64>,
    n_observed: usize,
    n_seen: usize,
}

impl Fill {
    pub(super) fn new(width: usize) -> Self {
        Self { sum: Array1::zeros(width), n_observed: 0, n_seen: 0 }
    }

    /// Returns the filled rows of these samples, `(n_samples, n_features)`, and for every gap the share of samples so
    /// far that are observed in the view; 1 for observed rows.
    pub(super) fn rows(
        &mut self,
        view: &Observed,
        samples: &[usize],
    ) -> (Array2<f64>, Array1<f64>) {
        let places: Vec<Option<usize>> =
            samples.iter().map(|sample| view.rows.binary_search(sample).ok()).collect();
        let first = places.iter().flatten().next();
        let mut filled = Array2::zeros((samples.len(), view.x.ncols()));
        let mut presence = Array1::ones(samples.len());
        for ((mut row, place), presence) in filled.outer_iter_mut().zip(&places).zip(&mut presence)
        {
            self.n_seen += 1;
            if let Some(place) = *place {
                row.assign(&view.x.row(place));
                self.sum += &row;
                self.n_observed += 1;
                continue;
            }
            *presence = self.n_observed.max(1) as f64 / self.n_seen as f64;
            if self.n_observed > 0 {
                row.assign(&self.sum);
                row /= self.n_observed as f64;
            } else if let Some(&first) = first {
                row.assign(&view.x.row(first));
            }
        }
        (filled, presence)
    }
}

/// Rows and basis of one view, and sums of earlier chunks.
pub(crate) struct View {
    rows: Observed,
    /// B, `(n_features, n_clusters)`, columns of sum 1 after the first step.
    pub(crate) basis: Array2<f64>,
    /// Sum of all values with filled gaps; values are divided by it.
    total: f64,
    fill: Fill,
    /// Sums over all passes, which move the basis.
    all: Sums,
    /// Sums over this pass, whose misfit a step must not increase.
    pub(super) pass: Sums,
    /// Σ c² ‖x‖² of this pass.
    squares: f64,
    /// α Σ c² ‖u - u*‖² + β Σ u of this pass.
    penalty: f64,
}

/// Sums of products with the coefficients, needed by the basis.
pub(super) struct Sums {
    /// Xᵀ C² U, `(n_features, n_clusters)`.
    cross: Array2<f64>,
    /// Uᵀ C² U.
    gram: Array2<f64>,
}

impl Sums {
    fn zeros(width: usize, k: usize) -> Self {
        Self { cross: Array2::zeros((width, k)), gram: Array2::zeros((k, k)) }
    }

    pub(super) fn with(&self, more: &Self) -> Self {
        Self { cross: &self.cross + &more.cross, gram: &self.gram + &more.gram }
    }

    /// Returns ‖C (X - U Bᵀ)‖² minus Σ c² ‖x‖².
    fn misfit(&self, basis: &Array2<f64>) -> f64 {
        dot(&product(basis.t(), basis.view()), &self.gram) - 2.0 * dot(&self.cross, basis)
    }
}

impl View {
    pub(crate) fn new(rows: Observed, basis: Array2<f64>, total: f64) -> Self {
        let (width, k) = basis.dim();
        let (fill, all, pass) = (Fill::new(width), Sums::zeros(width, k), Sums::zeros(width, k));
        Self { rows, basis, total, fill, all, pass, squares: 0.0, penalty: 0.0 }
    }

    /// Begins another pass over the same chunks.
    pub(crate) fn next_pass(&mut self) {
        let (width, k) = self.basis.dim();
        self.fill = Fill::new(width);
        self.pass = Sums::zeros(width, k);
        (self.squares, self.penalty) = (0.0, 0.0);
    }

    pub(super) fn read(&mut self, samples: &[usize], missing_weight: MissingWeight) -> ChunkView {
        let (mut x, mut weights) = self.fill.rows(&self.rows, samples);
        x /= self.total;
        match missing_weight {
            MissingWeight::Full => weights.fill(1.0),
            MissingWeight::Presence => weights.mapv_inplace(|c| c * c),
        }
        let squares = x.outer_iter().zip(&weights).map(|(x, weight)| weight * x.dot(&x)).sum();
        ChunkView { x, weights, squares }
    }

    /// Returns the loss of this view over the rows of this pass; `sums` includes the rows of `part`.
    pub(super) fn loss(&self, part: &ChunkView, sums: &Sums, penalty: f64) -> f64 {
        self.squares + part.squares + sums.misfit(&self.basis) + self.penalty + penalty
    }

    /// Moves the basis for the coefficients `u` of the current chunk and returns the sums of this pass.
    pub(super) fn step_basis(
        &mut self,
        part: &ChunkView,
        u: &Array2<f64>,
    ) -> Result<Sums, ClusterError> {
        let sums = part.sums(u);
        let (all, pass) = (self.all.with(&sums), self.pass.with(&sums));
        let gradient = product(self.basis.view(), all.gram.view()) - &all.cross;
        let step = product(gradient.view(), inverse_or_ridged(&all.gram)?.view());
        self.basis = line_search(&self.basis, &step, |basis| pass.misfit(basis));
        Ok(pass)
    }

    /// Scales the columns of the basis to sum 1 and returns the factors for their coefficients.
    pub(super) fn scale_basis(&mut self) -> Array1<f64> {
        let scale = self.basis.sum_axis(Axis(0)).mapv(|sum| sum.max(SUM_FLOOR));
        self.basis /= &scale;
        scale
    }

    /// Adds a chunk with its final coefficients.
    pub(super) fn keep(&mut self, part: &ChunkView, u: &Array2<f64>, penalty: f64) {
        let sums = part.sums(u);
        self.all = self.all.with(&sums);
        self.pass = self.pass.with(&sums);
        self.squares += part.squares;
        self.penalty += penalty;
    }
}

/// One view of a chunk, filled, nonnegative and divided by the total of the view.
pub(super) struct ChunkView {
    /// `(n_samples, n_features)`.
    x: Array2<f64>,
    /// c² of every sample.
    pub(super) weights: Array1<f64>,
    /// Σ c² ‖x‖².
    squares: f64,
}

impl ChunkView {
    pub(super) fn sums(&self, u: &Array2<f64>) -> Sums {
        let weighted = u * &self.weights.view().insert_axis(Axis(1));
        Sums { cross: product(self.x.t(), weighted.view()), gram: product(u.t(), weighted.view()) }
    }

    /// Returns α Σ c² ‖u - u*‖² + β Σ |u|.
    pub(super) fn penalty(&self, method: &Omvc, u: &Array2<f64>, consensus: &Array2<f64>) -> f64 {
        let &Omvc { alpha, beta, .. } = method;
        let rows = u.outer_iter().zip(consensus.outer_iter()).zip(&self.weights);
        rows.map(|((u, target), weight)| {
            let apart: f64 = u.iter().zip(target).map(|(u, t)| (u - t) * (u - t)).sum();
            alpha * weight * apart + beta * u.iter().map(|x| x.abs()).sum::<f64>()
        })
        .sum()
    }

    /// Returns the coefficients after one projected quasi-Newton step from `u`, halved until the loss of the chunk does
    /// not increase.
    pub(super) fn step_coefficients(
        &self,
        method: &Omvc,
        basis: &Array2<f64>,
        u: &Array2<f64>,
        consensus: &Array2<f64>,
    ) -> Result<Array2<f64>, ClusterError> {
        let gram = product(basis.t(), basis.view());
        let cross = product(self.x.view(), basis.view());
        let mut curvature = gram.clone();
        curvature.diag_mut().mapv_inplace(|x| x + method.alpha);
        // Half the gradient over c²: U (BᵀB + α I) - X B - α U* + β / (2 c²).
        let mut gradient = product(u.view(), curvature.view()) - &cross;
        gradient.scaled_add(-method.alpha, consensus);
        for (mut row, weight) in gradient.outer_iter_mut().zip(&self.weights) {
            row += 0.5 * method.beta / weight;
        }
        let inverse = inverse_positive_definite("omvc", &curvature)?;
        let step = product(gradient.view(), inverse.view());
        let loss = |u: &Array2<f64>| {
            let spread = product(u.view(), gram.view());
            let mut misfit = 0.0;
            let rows = u.outer_iter().zip(spread.outer_iter()).zip(cross.outer_iter());
            for (((u, spread), cross), weight) in rows.zip(&self.weights) {
                let terms = u.iter().zip(spread).zip(cross);
                misfit += weight * terms.map(|((u, s), c)| u * (s - 2.0 * c)).sum::<f64>();
            }
            misfit + self.penalty(method, u, consensus)
        };
        Ok(line_search(u, &step, loss))
    }
}

/// Returns max(0, from - length · step) for the first length of 1, 1/2, ... that does not increase `loss`.
fn line_search(
    from: &Array2<f64>,
    step: &Array2<f64>,
    loss: impl Fn(&Array2<f64>) -> f64,
) -> Array2<f64> {
    let before = loss(from);
    let mut length = 1.0;
    let mut trial = Array2::zeros(from.raw_dim());
    for _ in 0..MAX_TRIALS {
        let trial_entries = Zip::from(&mut trial).and(from).and(step);
        trial_entries.for_each(|to, x, step| *to = (x - length * step).max(0.0));
        length /= 2.0;
        if loss(&trial) <= before {
            break;
        }
    }
    trial
}

/// Returns the inverse of `gram`, with a ridge if a column of the coefficients is zero.
fn inverse_or_ridged(gram: &Array2<f64>) -> Result<Array2<f64>, ClusterError> {
    inverse_positive_definite("omvc", gram).or_else(|_| {
        let mut ridged = gram.clone();
        let ridge = 1e-12 * gram.diag().sum() / gram.nrows() as f64;
        ridged.diag_mut().mapv_inplace(|x| x + ridge.max(f64::MIN_POSITIVE));
        inverse_positive_definite("omvc", &ridged)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use cdimc_data::MultiView;
    use ndarray::array;

    #[test]
    fn gaps_hold_the_mean_of_earlier_rows() {
        let x = array![[f64::NAN], [0.0], [4.0], [f64::NAN]];
        let data = MultiView::from_nan_rows(vec![x, Array2::ones((4, 1))]).unwrap();
        let (view, mut fill) = (Observed::raw(&data, 0), Fill::new(1));
        let (filled, presence) = fill.rows(&view, &[0, 1, 2, 3]);
        assert_eq!(filled, array![[0.0], [0.0], [4.0], [2.0]]);
        assert_eq!(presence, array![1.0, 1.0, 1.0, 0.5]);
        let (filled, presence) = fill.rows(&view, &[0, 1, 2, 3]);
        assert_eq!(filled, array![[2.0], [0.0], [4.0], [2.0]]);
        assert_eq!(presence, array![2.0 / 5.0, 1.0, 1.0, 0.5]);
    }
}
