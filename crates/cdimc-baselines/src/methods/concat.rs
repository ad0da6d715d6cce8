//! Concat: k-means on the concatenated views, gaps filled with the mean.
//!
//! Source: H. Zhao, H. Liu, Y. Fu, "Incomplete multi-modal visual data grouping", IJCAI 2016; steps of Survey_IMC, the
//! code of the CDIMC-net authors (`BSV_Concat/Concat.m`).

use crate::shared::clusters_of_rows::ReadOut;
use crate::shared::observed_rows::Observed;
use crate::shared::settings::{counts, settings};
use cdimc_core::{ClusterError, Clusterer, Fitted, Observer};
use cdimc_data::{MultiView, Seed};
use ndarray::{Array2, s};

settings! {
    /// k-means on the concatenation of the views.
    ///
    /// Observed rows are scaled to unit length, the mean of these rows fills the gaps, and the views are concatenated
    /// without weights. Any number of views, any mask.
    pub struct Concat {
        /// Number of k-means starts; the best is kept. The authors' code uses 1.
        pub restarts: usize = 20,
    }
}

impl Clusterer for Concat {
    fn name(&self) -> &'static str {
        "concat"
    }

    fn check(&self) -> Result<(), ClusterError> {
        counts(&[], self.restarts)
    }

    fn run(
        &self,
        data: &MultiView,
        n_clusters: usize,
        seed: Seed,
        observer: &dyn Observer,
    ) -> Result<Fitted, ClusterError> {
        observer.step("kmeans", 0, 1, None)?;
        let n_samples = data.n_samples();
        let mut points = Array2::zeros((n_samples, data.widths().iter().sum()));
        let mut start = 0;
        for view in 0..data.n_views() {
            let filled = Observed::unit(data, view).filled(n_samples);
            let end = start + filled.ncols();
            points.slice_mut(s![.., start..end]).assign(&filled);
            start = end;
        }
        let read_out = ReadOut::new(n_clusters, self.restarts, seed, observer);
        Ok(read_out.rows(&points)?.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn views_complete_each_other() {
        let nan = f64::NAN;
        let a = array![[1.0, 0.0], [1.0, 0.1], [nan, nan], [0.0, 1.0], [nan, nan], [0.1, 1.0]];
        let b = array![[1.0, 0.0], [nan, nan], [1.0, 0.1], [0.0, 1.0], [0.1, 1.0], [nan, nan]];
        let data = MultiView::from_nan_rows(vec![a, b]).unwrap();
        let labels = Concat::default().cluster(&data, 2, Seed::new(1)).unwrap().labels;
        assert_eq!(labels[..3], [labels[0]; 3]);
        assert_eq!(labels[3..], [labels[3]; 3]);
        assert_ne!(labels[0], labels[3]);
    }
}
