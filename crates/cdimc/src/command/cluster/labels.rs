//! `labels.csv`: one line a sample.

use crate::command::output::csv_bytes;
use crate::tables::Joined;

/// What is known of every sample's cluster.
#[derive(Default)]
pub(crate) struct Labels<'a> {
    pub(crate) labels: &'a [usize],
    pub(crate) confidence: Option<&'a [f64]>,
    pub(crate) losses: Option<&'a [f64]>,
    /// Whether a sample is unlike anything in training.
    pub(crate) unusual: Option<&'a [bool]>,
    /// The share of its cluster's others that a sample stays with in subsamples.
    pub(crate) stability: Option<&'a [Option<f64>]>,
    /// Of every view the clusters that it alone gives the samples that have it; none of a single view.
    pub(crate) by_view: &'a [Vec<Option<usize>>],
}

impl Labels<'_> {
    /// The table; a sample that was in no view has no cluster.
    pub(crate) fn csv(&self, joined: &Joined) -> anyhow::Result<Vec<u8>> {
        let number = |values: Option<&[f64]>, i: usize| {
            values.map_or_else(String::new, |v| v[i].to_string())
        };
        let mut header = vec!["id", "cluster", "confidence", "loss", "views", "unusual"];
        header.extend(self.stability.map(|_| "stability"));
        let by_view: Vec<String> = self
            .by_view
            .iter()
            .zip(&joined.names)
            .map(|(_, name)| format!("cluster_by_{name}"))
            .collect();
        header.extend(by_view.iter().map(String::as_str));
        let observed = joined.ids.iter().enumerate().map(|(i, id)| {
            let mut row = vec![
                id.clone(),
                self.labels[i].to_string(),
                number(self.confidence, i),
                number(self.losses, i),
                joined.data.mask().n_views_of(i).to_string(),
                self.unusual.map_or_else(String::new, |u| u8::from(u[i]).to_string()),
            ];
            row.extend(self.stability.map(|s| s[i].map_or_else(String::new, |x| x.to_string())));
            let of_view = |of_view: &Vec<Option<usize>>| {
                of_view[i].map_or_else(String::new, |c| c.to_string())
            };
            row.extend(self.by_view.iter().map(of_view));
            row
        });
        let unobserved = joined.unobserved.iter().map(|id| {
            let mut row = vec![String::new(); header.len()];
            row[0].clone_from(id);
            row[4].push('0');
            row
        });
        csv_bytes(&header, observed.chain(unobserved))
    }
}
