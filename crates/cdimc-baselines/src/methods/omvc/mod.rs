//! OMVC: online multi-view clustering with incomplete views.
//!
//! W. Shao, L. He, C.-T. Lu, P. S. Yu, IEEE BigData 2016, pp. 1012-1017, arXiv 1611.00481; update
//! rules and settings of the first author's code, online-multiview-clustering-with-incomplete-view.

mod settings;
mod stream;

use crate::shared::clusters_of_rows::ReadOut;
use crate::shared::nonnegative::Nonnegative;
use crate::shared::observed_rows::{Observed, put_back};
use crate::shared::paired_views::stack;
use crate::shared::refusals::at_most;
use crate::shared::running_mean_fill::RunningFill;
use crate::shared::stream_chunk::Chunk;
use cdimc_core::{
    ClusterError, Clusterer, Fitted, Observer,
    check::{at_least_one, not_negative, positive},
};
use cdimc_data::{MultiView, Seed, unit_of};
pub use settings::{MissingWeight, Omvc};
pub(crate) use stream::{OmvcRows, OmvcStream};

impl Clusterer for Omvc {
    fn name(&self) -> &'static str {
        "omvc"
    }

    fn check(&self) -> Result<(), ClusterError> {
        positive("alpha", self.alpha)?;
        not_negative("beta", self.beta)?;
        not_negative("tolerance", self.tolerance)?;
        at_least_one(&[
            ("chunk-size", self.chunk_size),
            ("passes", self.passes),
            ("iterations", self.iterations),
            ("restarts", self.restarts),
        ])?;
        at_most(&[("restarts", self.restarts)])
    }

    fn applies(&self, data: &MultiView, _: usize) -> Result<(), ClusterError> {
        let clips = self.nonnegative == Nonnegative::Clip;
        let positive = |view: usize| data.view(view).iter().any(|&x| x > 0.0);
        if clips && !(0..data.n_views()).any(positive) {
            let reason = "no value is positive, and clipping leaves zeros: set nonnegative to \
                          unit-shift or min-max";
            return Err(ClusterError::Inapplicable { method: self.name(), reason: reason.into() });
        }
        Ok(())
    }

    fn run(
        &self,
        data: &MultiView,
        n_clusters: usize,
        seed: Seed,
        observer: &Observer<'_>,
    ) -> Result<Fitted, ClusterError> {
        let rows = self.order.rows(data.n_samples(), seed);
        let source = Source::new(self, data);
        if source.views.is_empty() {
            let reason = "made nonnegative, every value of every view is 0".to_owned();
            return Err(ClusterError::Inapplicable { method: self.name(), reason });
        }
        let totals = source.totals(&rows, self.chunk_size);
        let mut stream = OmvcStream::new(self, &source.widths(), &totals, n_clusters, seed)?;
        let n_chunks = rows.len().div_ceil(self.chunk_size);
        let of = n_chunks.saturating_mul(self.passes);
        let mut found: Vec<OmvcRows> = Vec::with_capacity(n_chunks);
        for pass in 0..self.passes {
            if pass > 0 {
                stream.next_pass();
            }
            for (number, rows) in rows.chunks(self.chunk_size).enumerate() {
                observer.step("chunks", pass * n_chunks + number, of, None)?;
                let chunk = source.chunk(rows);
                if pass == 0 {
                    found.push(stream.absorb(&chunk)?);
                } else {
                    found[number] = stream.revisit(&chunk, &found[number])?;
                }
            }
        }
        let chunks: Vec<_> = found.iter().map(|rows| rows.consensus.view()).collect();
        let embedding = put_back(&stack(&chunks), &rows);
        let read_out = ReadOut::new(n_clusters, self.restarts, seed, observer);
        Ok(read_out.scaled_to_largest_entry(embedding)?.into())
    }
}

/// Data in memory as the stream reads it.
struct Source<'a> {
    data: &'a MultiView,
    /// The views that are not 0 throughout once nonnegative. Such a one would be fitted by coefficients of 0, which
    /// pull those of the others down.
    views: Vec<usize>,
    /// Nonnegative copies of their observed rows, where clipping in the stream is not enough.
    nonnegative: Vec<Observed>,
    /// What the values of each of them are divided by, so that no sum is too large for a float.
    units: Vec<f64>,
}

impl<'a> Source<'a> {
    fn new(settings: &Omvc, data: &'a MultiView) -> Self {
        let mut source = Self { data, views: vec![], nonnegative: vec![], units: vec![] };
        for view in 0..data.n_views() {
            let unit = match settings.nonnegative {
                Nonnegative::Clip => {
                    let values = || data.view(view).into_iter().copied();
                    let unit = unit_of(values());
                    values().any(|x| x / unit > 0.0).then_some(unit)
                }
                Nonnegative::UnitShift | Nonnegative::MinMax => {
                    let mut observed = Observed::raw(data, view);
                    settings.nonnegative.apply(&mut observed);
                    let says_something = observed.x.iter().any(|&x| x != 0.0);
                    source.nonnegative.extend(says_something.then_some(observed));
                    says_something.then_some(1.0)
                }
            };
            source.views.extend(unit.map(|_| view));
            source.units.extend(unit);
        }
        source
    }

    fn widths(&self) -> Vec<usize> {
        self.views.iter().map(|&view| self.data.width(view)).collect()
    }

    fn chunk(&self, rows: &[usize]) -> Chunk {
        let mut chunk = Chunk::of_views(self.data, &self.views, rows);
        chunk.divide(&self.units);
        for (view, observed) in self.nonnegative.iter().enumerate() {
            for (place, row) in rows.iter().enumerate() {
                if let Ok(index) = observed.rows.binary_search(row) {
                    chunk.row_mut(view, place).assign(&observed.x.row(index));
                }
            }
        }
        chunk
    }

    /// The sum of all values of each view once its gaps are filled.
    fn totals(&self, rows: &[usize], chunk_size: usize) -> Vec<f64> {
        let mut fills: Vec<RunningFill> = self.widths().into_iter().map(RunningFill::new).collect();
        let mut totals = vec![0.0; fills.len()];
        for rows in rows.chunks(chunk_size) {
            let chunk = self.chunk(rows);
            for (view, fill) in fills.iter_mut().enumerate() {
                totals[view] += fill.fill(&chunk, view).0.sum();
            }
        }
        totals
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cdimc_core::RowOrder;
    use ndarray::Array2;

    fn data() -> MultiView {
        let mut views: Vec<Array2<f64>> = (0..2)
            .map(|v| {
                Array2::from_shape_fn((40, 4), |(i, j)| {
                    let near = if i % 2 == j % 2 { 3.0 } else { 0.0 };
                    near + 0.1 * ((i * 5 + j * 3 + v) % 7) as f64
                })
            })
            .collect();
        for i in (0..40).step_by(4) {
            views[0].row_mut(i).fill(f64::NAN);
            views[1].row_mut(i + 1).fill(f64::NAN);
        }
        MultiView::from_nan_rows(views).unwrap()
    }

    #[test]
    fn two_groups_are_found_whatever_makes_the_data_nonnegative() {
        for nonnegative in [Nonnegative::Clip, Nonnegative::UnitShift, Nonnegative::MinMax] {
            for missing_weight in [MissingWeight::Full, MissingWeight::Presence] {
                let settings =
                    Omvc { nonnegative, missing_weight, chunk_size: 10, ..Omvc::default() };
                let found = settings.cluster(&data(), 2, Seed::new(1)).unwrap();
                assert!(found.embedding.unwrap().iter().all(|x| x.is_finite()));
                let same = (0..40).filter(|&i| found.labels[i] == found.labels[i % 2]).count();
                assert!(same >= 36, "{nonnegative:?}, {missing_weight:?}: {same} of 40");
            }
        }
    }

    #[test]
    fn a_view_that_is_clipped_to_zeros_has_no_part() {
        let positive = data().view(0).mapv(|x| if x.is_nan() { 1.0 } else { x });
        let negative = Array2::from_shape_fn((40, 3), |(i, j)| -1.0 - ((i + j) % 5) as f64);
        let cluster = |views| {
            let data = MultiView::from_nan_rows(views).unwrap();
            Omvc::default().cluster(&data, 2, Seed::new(1)).unwrap()
        };
        let alone = cluster(vec![positive.clone()]);
        assert_eq!(cluster(vec![negative.clone(), positive.clone()]), alone);
        assert_eq!(cluster(vec![positive, negative]), alone);
    }

    #[test]
    fn chunks_fed_by_hand_give_the_embedding_of_the_method() {
        let data = data();
        let settings = Omvc { chunk_size: 10, passes: 1, order: RowOrder::File, ..Omvc::default() };
        let whole = settings.cluster(&data, 2, Seed::new(3)).unwrap().embedding.unwrap();
        let rows: Vec<usize> = (0..40).collect();
        let source = Source::new(&settings, &data);
        let totals = source.totals(&rows, 10);
        // In the units of the data, which the method divides by a power of two first.
        let totals: Vec<f64> = totals.iter().zip(&source.units).map(|(t, u)| t * u).collect();
        let mut stream = OmvcStream::new(&settings, &[4, 4], &totals, 2, Seed::new(3)).unwrap();
        let first = stream.absorb(&Chunk::of_views(&data, &[0, 1], &rows[..10])).unwrap();
        let ratio = &first.consensus / &whole.slice(ndarray::s![..10, ..]);
        let scale = ratio[[0, 0]];
        assert!(ratio.iter().all(|r| r.is_nan() || (r / scale - 1.0).abs() < 1e-12));
    }
}
