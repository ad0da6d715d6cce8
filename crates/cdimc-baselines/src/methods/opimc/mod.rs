//! OPIMC: one-pass incomplete multi-view clustering.
//!
//! M. Hu, S. Chen, AAAI 2019, pp. 3838-3845, DOI 10.1609/aaai.v33i01.33013838; update rules of the
//! code in Survey_IMC, OPIMC/OPIMC.m.

mod settings;
mod stream;

use cdimc_core::{
    ClusterError, Clusterer, Clustering, Fitted, Observer,
    check::{at_least_one, not_negative, positive},
};
use cdimc_data::{MultiView, Seed};
pub use settings::Opimc;
use stream::Assigned;
pub(crate) use stream::{OpimcStream, Part};

impl Clusterer for Opimc {
    fn name(&self) -> &'static str {
        "opimc"
    }

    fn check(&self) -> Result<(), ClusterError> {
        positive("alpha", self.alpha)?;
        not_negative("tolerance", self.tolerance)?;
        at_least_one(&[
            ("chunk-size", self.chunk_size),
            ("passes", self.passes),
            ("iterations", self.iterations),
        ])
    }

    fn run(
        &self,
        data: &MultiView,
        n_clusters: usize,
        seed: Seed,
        observer: &Observer<'_>,
    ) -> Result<Fitted, ClusterError> {
        let order = self.order.rows(data.n_samples(), seed);
        let mut stream = OpimcStream::new(self, &data.widths(), n_clusters, seed);
        let mut labels = vec![0; data.n_samples()];
        let mut confidence = vec![0.0; data.n_samples()];
        let mut keep = |rows: &[usize], found: Assigned, labels: &mut [usize]| {
            for ((&row, label), sure) in rows.iter().zip(found.labels).zip(found.confidence) {
                (labels[row], confidence[row]) = (label, sure);
            }
        };
        let n_chunks = order.len().div_ceil(self.chunk_size);
        let of = n_chunks.saturating_mul(self.passes);
        // Later passes read the prepared rows again; a single pass holds one chunk at a time.
        let mut kept: Vec<Vec<Part>> = Vec::new();
        for (number, rows) in order.chunks(self.chunk_size).enumerate() {
            observer.step("chunks", number, of, None)?;
            let parts: Vec<Part> =
                (0..data.n_views()).map(|v| Part::of_rows(data, rows, v)).collect();
            keep(rows, stream.absorb(&parts, rows.len())?, &mut labels);
            if self.passes > 1 {
                kept.push(parts);
            }
        }
        for pass in 1..self.passes {
            for (number, (rows, parts)) in order.chunks(self.chunk_size).zip(&kept).enumerate() {
                observer.step("chunks", pass * n_chunks + number, of, None)?;
                let before: Vec<usize> = rows.iter().map(|&row| labels[row]).collect();
                keep(rows, stream.revisit(parts, before)?, &mut labels);
            }
        }
        let clustering =
            Clustering { confidence: Some(confidence), ..Clustering::from_labels(labels) };
        Ok(clustering.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cdimc_core::RowOrder;
    use ndarray::{Array1, Array2};

    fn blobs() -> MultiView {
        let view = |shift: f64| {
            Array2::from_shape_fn((60, 3), |(i, j)| {
                let near = if i % 3 == j { 1.0 } else { 0.0 };
                near + shift * ((i * 5 + j * 3) % 7) as f64
            })
        };
        let (mut a, mut b) = (view(0.01), view(0.02));
        for i in 0..60 {
            if i % 5 == 0 {
                a.row_mut(i).fill(f64::NAN);
            } else if i % 7 == 0 {
                b.row_mut(i).fill(f64::NAN);
            }
        }
        MultiView::from_nan_rows(vec![a, b]).unwrap()
    }

    #[test]
    fn chunks_fed_by_hand_give_the_labels_of_the_method() {
        let data = blobs();
        let settings =
            Opimc { chunk_size: 20, alpha: 0.1, order: RowOrder::File, ..Opimc::default() };
        let whole = settings.cluster(&data, 3, Seed::new(5)).unwrap().labels;
        let mut stream = OpimcStream::new(&settings, &[3, 3], 3, Seed::new(5));
        let mut fed = Vec::new();
        for start in [0, 20, 40] {
            let rows: Vec<usize> = (start..start + 20).collect();
            let parts = [0, 1].map(|view| Part::of_rows(&data, &rows, view));
            fed.extend(stream.absorb(&parts, rows.len()).unwrap().labels);
        }
        assert_eq!(fed, whole);
    }

    #[test]
    fn a_second_pass_never_raises_the_objective() {
        let data = blobs();
        let objective = |passes| {
            let settings = Opimc { passes, chunk_size: 15, alpha: 0.1, ..Opimc::default() };
            let labels = settings.cluster(&data, 3, Seed::new(2)).unwrap().labels;
            let mut loss = 0.0;
            for v in 0..2 {
                let rows: Vec<usize> = (0..60).collect();
                let part = Part::of_rows(&data, &rows, v);
                let (mut sums, mut counts) = (Array2::zeros((3, 3)), Array1::zeros(3));
                part.add(&labels, 1.0, &mut sums, &mut counts);
                for j in 0..3 {
                    let sum: ndarray::ArrayView1<f64> = sums.row(j);
                    loss -= sum.dot(&sum) / (counts[j] + settings.alpha);
                }
            }
            loss
        };
        assert!(objective(3) <= objective(1) + 1e-12);
    }
}
