//! The data as the network reads it: standardised, single precision, only what was observed.

use ndarray::Array2;

/// One view: the samples that have it and their standardised values.
#[derive(Debug, Clone)]
pub struct ObservedView {
    /// The samples observed in this view, ascending.
    pub rows: Vec<u32>,
    /// Their values, `(rows.len(), n_features)`, in standard layout.
    pub values: Array2<f32>,
}

/// All views of the samples `0..n_samples`, in training order.
#[derive(Debug, Clone)]
pub struct NetworkInput {
    /// Number of samples, observed or not.
    pub n_samples: usize,
    /// One entry a view.
    pub views: Vec<ObservedView>,
}

impl NetworkInput {
    /// Number of views that observe each sample: the denominators of eq. 4.
    pub fn views_of_samples(&self) -> Vec<u32> {
        let mut count = vec![0; self.n_samples];
        for view in &self.views {
            for &row in &view.rows {
                count[row as usize] += 1;
            }
        }
        count
    }
}
