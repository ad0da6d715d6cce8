//! OMVC on a stream of chunks: projected quasi-Newton steps of coefficients and bases.

use super::settings::{MissingWeight, Omvc};
use crate::shared::linear_algebra::{dot, inverse_positive_definite, product};
use crate::shared::refusals::not_finite;
use crate::shared::running_mean_fill::RunningFill;
use crate::shared::stream_chunk::Chunk;
use cdimc_core::ClusterError;
use cdimc_data::Seed;
use ndarray::{Array1, Array2, Axis, Zip};
use rand::Rng;
use rand::distributions::Standard;

/// Trials of a step of half the length each, of which the last is kept (authors' code).
const TRIALS: usize = 252;
/// The least column sum of a basis (authors' code).
const SUM_FLOOR: f64 = 1e-20;

/// [`Omvc`] on a stream of chunks, in memory for one chunk and the bases.
///
/// In the first pass [`absorb`](Self::absorb) gives the rows of each chunk; later passes begin with
/// [`next_pass`](Self::next_pass) and [`revisit`](Self::revisit) the same chunks in the same order
/// with the rows they had. As in the authors' code the sums of earlier passes stay, so that every
/// pass counts its samples once more.
#[derive(Debug, Clone)]
pub(crate) struct OmvcStream {
    settings: Omvc,
    views: Vec<View>,
    n_clusters: usize,
    n_chunks: u64,
    seed: Seed,
}

/// What [`OmvcStream`] found for the samples of one chunk.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OmvcRows {
    /// U*, `(n_samples, n_clusters)`: the common representation.
    pub consensus: Array2<f64>,
    /// Uᵥ, `(n_samples, n_clusters)` for each view.
    pub coefficients: Vec<Array2<f64>>,
}

/// The basis of one view and what is kept of the chunks before.
#[derive(Debug, Clone)]
struct View {
    /// B, `(n_features, n_clusters)`.
    basis: Array2<f64>,
    /// The divisor of the values.
    total: f64,
    fill: RunningFill,
    /// Over all passes: what moves the basis.
    all: Sums,
    /// Over this pass: what a step must not raise.
    pass: Sums,
    /// Σ c² ‖x‖² of this pass.
    squares: f64,
    /// α Σ c² ‖u - u*‖² + β Σ u of this pass.
    penalty: f64,
}

#[derive(Debug, Clone)]
struct Sums {
    /// Xᵀ C² U, `(n_features, n_clusters)`.
    cross: Array2<f64>,
    /// Uᵀ C² U.
    gram: Array2<f64>,
}

impl OmvcStream {
    /// A stream of views with `widths` features before its first chunk, with uniform random bases.
    ///
    /// `totals`: what the values of each view are divided by; the method divides by the sum of all
    /// values of the view, with its gaps filled, and α and β weigh against views of sum 1. For a
    /// stream without an end, an estimate of that sum serves.
    ///
    /// # Errors
    /// If a total is not positive and finite.
    pub(crate) fn new(
        settings: &Omvc,
        widths: &[usize],
        totals: &[f64],
        n_clusters: usize,
        seed: Seed,
    ) -> Result<Self, ClusterError> {
        let mut rng = seed.stream("bases").rng();
        let mut uniform =
            |width| Array2::from_shape_simple_fn((width, n_clusters), || rng.sample(Standard));
        let bases = widths.iter().map(|&width| uniform(width)).collect();
        Self::from_bases(settings, bases, totals, seed)
    }

    /// A stream that starts from these bases, `(n_features, n_clusters)` for each view.
    ///
    /// # Errors
    /// As [`OmvcStream::new`].
    pub(crate) fn from_bases(
        settings: &Omvc,
        bases: Vec<Array2<f64>>,
        totals: &[f64],
        seed: Seed,
    ) -> Result<Self, ClusterError> {
        let n_clusters = bases.first().map_or(0, Array2::ncols);
        let wrong = totals.iter().find(|total| !(total.is_finite() && **total > 0.0));
        if wrong.is_some() || totals.len() != bases.len() {
            let value = format!("{totals:?}");
            let rule = "must hold one positive number for each view";
            return Err(ClusterError::Setting { name: "totals", value, rule });
        }
        let one = |(basis, &total): (Array2<f64>, &f64)| View::new(basis, total);
        let views = bases.into_iter().zip(totals).map(one).collect();
        Ok(Self { settings: settings.clone(), views, n_clusters, n_chunks: 0, seed })
    }

    /// The basis of each view, `(n_features, n_clusters)`, columns of sum 1, as they stand.
    #[cfg(test)]
    pub(crate) fn bases(&self) -> impl Iterator<Item = &Array2<f64>> {
        self.views.iter().map(|view| &view.basis)
    }

    /// Factorizes the next chunk of the first pass.
    ///
    /// # Errors
    /// If the iteration diverges.
    pub(crate) fn absorb(&mut self, chunk: &Chunk) -> Result<OmvcRows, ClusterError> {
        let mut rng = self.seed.stream("coefficients").nth(self.n_chunks).rng();
        let shape = (chunk.n_samples(), self.n_clusters);
        let coefficients = self
            .views
            .iter()
            .map(|_| Array2::from_shape_simple_fn(shape, || rng.sample(Standard)))
            .collect();
        self.absorb_from(chunk, coefficients)
    }

    /// As [`OmvcStream::absorb`], from given coefficients `(n_samples, n_clusters)` for each view
    /// instead of random ones.
    ///
    /// # Errors
    /// As [`OmvcStream::absorb`].
    ///
    /// # Panics
    /// If the coefficients have another shape.
    pub(crate) fn absorb_from(
        &mut self,
        chunk: &Chunk,
        coefficients: Vec<Array2<f64>>,
    ) -> Result<OmvcRows, ClusterError> {
        self.settle(chunk, coefficients, None)
    }

    /// Begins another pass over the same chunks.
    pub(crate) fn next_pass(&mut self) {
        self.views.iter_mut().for_each(View::next_pass);
    }

    /// Factorizes a chunk again, which had the rows `before` in the last pass.
    ///
    /// # Errors
    /// As [`OmvcStream::absorb`].
    ///
    /// # Panics
    /// If `before` has another shape than the chunk asks for.
    pub(crate) fn revisit(
        &mut self,
        chunk: &Chunk,
        before: &OmvcRows,
    ) -> Result<OmvcRows, ClusterError> {
        self.settle(chunk, before.coefficients.clone(), Some(before))
    }

    fn settle(
        &mut self,
        chunk: &Chunk,
        mut coefficients: Vec<Array2<f64>>,
        before: Option<&OmvcRows>,
    ) -> Result<OmvcRows, ClusterError> {
        let Omvc { alpha, beta, iterations, tolerance, missing_weight, .. } = self.settings;
        let parts: Vec<Part> = self
            .views
            .iter_mut()
            .enumerate()
            .map(|(number, view)| view.read(chunk, number, missing_weight))
            .collect();
        let zeros = || Array2::zeros((chunk.n_samples(), self.n_clusters));
        let mut consensus =
            before.map_or_else(|| consensus_of(&parts, &coefficients), |b| b.consensus.clone());
        // The stopping rule of the authors' code looks at the rows as stored: zeros before a chunk
        // was seen, and the consensus of the last pass all along.
        let stored_consensus = before.map_or_else(zeros, |before| before.consensus.clone());
        let mut last: f64 = 0.0;
        for (number, (view, part)) in self.views.iter().zip(&parts).enumerate() {
            let stored = before.map_or_else(zeros, |before| before.coefficients[number].clone());
            let pass = view.pass.with(&part.sums(&stored));
            let penalty = part.penalty(&stored, &stored_consensus, alpha, beta);
            last += view.loss(part, &pass, penalty);
        }
        for _ in 0..iterations {
            let mut loss = 0.0;
            for ((view, part), u) in self.views.iter_mut().zip(&parts).zip(&mut coefficients) {
                let stepped = part.step_coefficients(&view.basis, u, &consensus, alpha, beta)?;
                let pass = view.step_basis(part, &stepped)?;
                let penalty = part.penalty(&stepped, &stored_consensus, alpha, beta);
                *u = stepped * view.scale_basis();
                loss += view.loss(part, &pass, penalty);
            }
            consensus = consensus_of(&parts, &coefficients);
            if !loss.is_finite() {
                return Err(not_finite("omvc", format_args!("chunk {}", self.n_chunks + 1)));
            }
            let settled = (loss - last).abs() < tolerance * last.abs();
            last = loss;
            if settled {
                break;
            }
        }
        for ((view, part), u) in self.views.iter_mut().zip(&parts).zip(&coefficients) {
            let sums = part.sums(u);
            view.all = view.all.with(&sums);
            view.pass = view.pass.with(&sums);
            view.squares += part.squares;
            view.penalty += part.penalty(u, &consensus, alpha, beta);
        }
        self.n_chunks += 1;
        Ok(OmvcRows { consensus, coefficients })
    }
}

impl Sums {
    fn zeros(width: usize, k: usize) -> Self {
        Self { cross: Array2::zeros((width, k)), gram: Array2::zeros((k, k)) }
    }

    fn with(&self, more: &Self) -> Self {
        Self { cross: &self.cross + &more.cross, gram: &self.gram + &more.gram }
    }

    /// ‖C (X - U Bᵀ)‖² less Σ c² ‖x‖².
    fn misfit(&self, basis: &Array2<f64>) -> f64 {
        dot(&product(basis.t(), basis.view()), &self.gram) - 2.0 * dot(&self.cross, basis)
    }
}

impl View {
    fn new(basis: Array2<f64>, total: f64) -> Self {
        let (width, k) = basis.dim();
        let (fill, all, pass) =
            (RunningFill::new(width), Sums::zeros(width, k), Sums::zeros(width, k));
        Self { basis, total, fill, all, pass, squares: 0.0, penalty: 0.0 }
    }

    fn next_pass(&mut self) {
        let (width, k) = self.basis.dim();
        self.fill = RunningFill::new(width);
        self.pass = Sums::zeros(width, k);
        (self.squares, self.penalty) = (0.0, 0.0);
    }

    fn read(&mut self, chunk: &Chunk, number: usize, missing_weight: MissingWeight) -> Part {
        let (mut x, mut weights) = self.fill.fill(chunk, number);
        x /= self.total;
        match missing_weight {
            MissingWeight::Full => weights.fill(1.0),
            MissingWeight::Presence => weights.mapv_inplace(|c| c * c),
        }
        let squares = x.outer_iter().zip(&weights).map(|(x, weight)| weight * x.dot(&x)).sum();
        Part { x, weights, squares }
    }

    /// The loss of this view over the rows of this pass, those of `part` included in `sums`.
    fn loss(&self, part: &Part, sums: &Sums, penalty: f64) -> f64 {
        self.squares + part.squares + sums.misfit(&self.basis) + self.penalty + penalty
    }

    /// Moves the basis for the coefficients `u` of the present chunk; gives the sums of this pass.
    fn step_basis(&mut self, part: &Part, u: &Array2<f64>) -> Result<Sums, ClusterError> {
        let sums = part.sums(u);
        let (all, pass) = (self.all.with(&sums), self.pass.with(&sums));
        let gradient = product(self.basis.view(), all.gram.view()) - &all.cross;
        let step = product(gradient.view(), inverse_or_ridged(&all.gram)?.view());
        let before = pass.misfit(&self.basis);
        let mut length = 1.0;
        let mut trial = Array2::zeros(self.basis.raw_dim());
        for _ in 0..TRIALS {
            project(&mut trial, &self.basis, &step, length);
            length /= 2.0;
            if pass.misfit(&trial) <= before {
                break;
            }
        }
        self.basis = trial;
        Ok(pass)
    }

    /// Gives the columns of the basis sum 1; what their coefficients are to be multiplied by.
    fn scale_basis(&mut self) -> Array1<f64> {
        let scale = self.basis.sum_axis(Axis(0)).mapv(|sum| sum.max(SUM_FLOOR));
        self.basis /= &scale;
        scale
    }
}

/// One view of a chunk, filled, nonnegative and divided by the total of the view.
struct Part {
    /// `(n_samples, n_features)`.
    x: Array2<f64>,
    /// c² of every sample.
    weights: Array1<f64>,
    /// Σ c² ‖x‖².
    squares: f64,
}

impl Part {
    fn sums(&self, u: &Array2<f64>) -> Sums {
        let weighted = u * &self.weights.view().insert_axis(Axis(1));
        Sums { cross: product(self.x.t(), weighted.view()), gram: product(u.t(), weighted.view()) }
    }

    /// α Σ c² ‖u - u*‖² + β Σ |u|.
    fn penalty(&self, u: &Array2<f64>, consensus: &Array2<f64>, alpha: f64, beta: f64) -> f64 {
        let rows = u.outer_iter().zip(consensus.outer_iter()).zip(&self.weights);
        rows.map(|((u, target), weight)| {
            let apart: f64 = u.iter().zip(target).map(|(u, t)| (u - t) * (u - t)).sum();
            alpha * weight * apart + beta * u.iter().map(|x| x.abs()).sum::<f64>()
        })
        .sum()
    }

    /// The coefficients after one projected quasi-Newton step from `u`, halved until the loss of the
    /// chunk does not rise.
    fn step_coefficients(
        &self,
        basis: &Array2<f64>,
        u: &Array2<f64>,
        consensus: &Array2<f64>,
        alpha: f64,
        beta: f64,
    ) -> Result<Array2<f64>, ClusterError> {
        let gram = product(basis.t(), basis.view());
        let cross = product(self.x.view(), basis.view());
        let mut curvature = gram.clone();
        curvature.diag_mut().mapv_inplace(|x| x + alpha);
        // Half the gradient over c²: U (BᵀB + α I) - X B - α U* + β / (2 c²).
        let mut gradient = product(u.view(), curvature.view()) - &cross;
        gradient.scaled_add(-alpha, consensus);
        for (mut row, weight) in gradient.outer_iter_mut().zip(&self.weights) {
            row += 0.5 * beta / weight;
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
            misfit + self.penalty(u, consensus, alpha, beta)
        };
        let before = loss(u);
        let mut length = 1.0;
        let mut trial = Array2::zeros(u.raw_dim());
        for _ in 0..TRIALS {
            project(&mut trial, u, &step, length);
            length /= 2.0;
            if loss(&trial) <= before {
                break;
            }
        }
        Ok(trial)
    }
}

/// max(0, from - length · step) into `to`.
fn project(to: &mut Array2<f64>, from: &Array2<f64>, step: &Array2<f64>, length: f64) {
    Zip::from(to).and(from).and(step).for_each(|to, x, step| *to = (x - length * step).max(0.0));
}

/// The inverse of `gram`, with a ridge where a column of the coefficients is zero throughout.
fn inverse_or_ridged(gram: &Array2<f64>) -> Result<Array2<f64>, ClusterError> {
    inverse_positive_definite("omvc", gram).or_else(|_| {
        let mut ridged = gram.clone();
        let ridge = 1e-12 * gram.diag().sum() / gram.nrows() as f64;
        ridged.diag_mut().mapv_inplace(|x| x + ridge.max(f64::MIN_POSITIVE));
        inverse_positive_definite("omvc", &ridged)
    })
}

/// U* = Σᵥ c² Uᵥ / Σᵥ c², row by row.
fn consensus_of(parts: &[Part], coefficients: &[Array2<f64>]) -> Array2<f64> {
    let mut sum = Array2::<f64>::zeros(coefficients[0].raw_dim());
    let mut weights = Array1::<f64>::zeros(sum.nrows());
    for (part, u) in parts.iter().zip(coefficients) {
        sum += &(u * &part.weights.view().insert_axis(Axis(1)));
        weights += &part.weights;
    }
    sum / &weights.insert_axis(Axis(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use cdimc_data::MultiView;
    use ndarray::array;

    fn chunk() -> Chunk {
        let x = array![[1.0, 0.0, 2.0], [0.0, 2.0, 0.5], [0.5, 1.0, 0.2], [1.5, 0.2, 2.5]];
        let data = MultiView::from_nan_rows(vec![x]).unwrap();
        Chunk::of_views(&data, &[0], &[0, 1, 2, 3])
    }

    #[test]
    fn more_iterations_never_fit_a_chunk_worse() {
        let fit = |iterations| {
            let settings = Omvc { iterations, tolerance: 0.0, ..Omvc::default() };
            let mut stream = OmvcStream::new(&settings, &[3], &[12.4], 2, Seed::new(4)).unwrap();
            let rows = stream.absorb(&chunk()).unwrap();
            let basis = stream.bases().next().unwrap().clone();
            assert!((basis.sum_axis(Axis(0)) - 1.0).iter().all(|x| x.abs() < 1e-12));
            let x = chunk().view(0).mapv(|x| x / 12.4);
            let apart = x - rows.coefficients[0].dot(&basis.t());
            dot(&apart, &apart)
        };
        assert!(fit(50) <= fit(5) && fit(5) < fit(1));
    }

    #[test]
    fn totals_that_divide_by_nothing_are_refused() {
        let stream = |totals: &[f64]| {
            OmvcStream::new(&Omvc::default(), &[3], totals, 2, Seed::new(4)).map(|_| ())
        };
        let error = stream(&[0.0]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "totals = [0.0]: must hold one positive number for each view"
        );
        assert!(stream(&[]).is_err() && stream(&[1.0]).is_ok());
    }
}
