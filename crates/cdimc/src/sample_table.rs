//! Results per sample, in columns: `labels.csv` of the command, data frames in Python and R.

use crate::NamedModel;
use crate::analysis::Outcome;
use crate::tables::Joined;
use cdimc_core::Clustering;

/// Results per sample. Every program writes these columns, with these names, in this order.
#[derive(Debug, Clone, PartialEq)]
pub struct SampleTable {
    /// The columns, with one value per sample that has a value in some view.
    pub columns: Vec<Column>,
}

/// One result of every sample; `docs/reference/results.md` has its meaning and range.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Name in files and data frames.
    pub name: String,
    /// One value per sample; `None` if the method does not compute them.
    pub values: Option<Values>,
}

/// The values of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Clusters, counted from 0; `None` for a sample without a cluster.
    Clusters(Vec<Option<usize>>),
    /// Numbers of things; 0 for a sample without a value in any view.
    Counts(Vec<usize>),
    /// Finite numbers; NaN where there is none.
    Numbers(Vec<f64>),
    /// Findings that are true or false.
    Flags(Vec<bool>),
    /// Sets of clusters, counted from 0 and ascending.
    Sets(Vec<Vec<usize>>),
}

impl SampleTable {
    /// Returns the columns of the clusters that a fit or a model found for `samples`.
    pub fn new(found: &Clustering, samples: &Joined) -> Self {
        let n_views_of = |i| samples.data.mask().n_views_of(i);
        Self::of(found, (0..found.labels.len()).map(n_views_of).collect())
    }

    #[cfg(feature = "command")]
    pub(crate) fn without_values() -> Self {
        Self::of(&Clustering::from_labels(Vec::new()), Vec::new())
    }

    fn of(found: &Clustering, n_views: Vec<usize>) -> Self {
        let clusters = found.labels.iter().copied().map(Some).collect();
        let numbers = |values: &Option<Vec<f64>>| values.clone().map(Values::Numbers);
        let columns = [
            ("cluster", Some(Values::Clusters(clusters))),
            ("confidence", numbers(&found.confidence)),
            ("loss", numbers(&found.losses)),
            ("views", Some(Values::Counts(n_views))),
            ("unusual", found.unusual.clone().map(Values::Flags)),
            ("set", found.sets.clone().map(Values::Sets)),
        ];
        Self { columns: columns.map(|(name, values)| Column::new(name, values)).into() }
    }

    /// Returns the columns of a fit: also stability, and the clusters by single views, if they were computed.
    pub fn of_fit(outcome: &Outcome, samples: &Joined) -> Self {
        let mut table = Self::new(&outcome.clustering, samples);
        if let Some(stability) = &outcome.stability {
            let shares = stability.samples.iter().map(|share| share.unwrap_or(f64::NAN)).collect();
            table.columns.push(Column::new("stability", Some(Values::Numbers(shares))));
        }
        let fitted = outcome.model.as_ref().and_then(NamedModel::fitted_mixture);
        if let Some(fitted) = fitted.filter(|_| samples.names.len() > 1) {
            let by_view = samples.names.iter().zip(fitted.labels_by_view());
            table.columns.extend(by_view.map(|(view, clusters)| {
                Column::new(&format!("cluster_by_{view}"), Some(Values::Clusters(clusters)))
            }));
        }
        table
    }
}

/// Returns a set of clusters as text, such as `1 or 3`.
pub fn set_text<T: ToString>(clusters: impl Iterator<Item = T>) -> String {
    clusters.map(|cluster| cluster.to_string()).collect::<Vec<_>>().join(" or ")
}

impl Column {
    fn new(name: &str, values: Option<Values>) -> Self {
        Self { name: name.to_owned(), values }
    }
}

impl Values {
    /// Returns the value of a sample as text, `None` being a sample without a value in any view; empty if there is none.
    pub fn text(&self, sample: Option<usize>) -> String {
        match (self, sample) {
            (Self::Clusters(values), Some(i)) => {
                values[i].map_or_else(String::new, |c| c.to_string())
            }
            (Self::Counts(values), Some(i)) => values[i].to_string(),
            (Self::Numbers(values), Some(i)) if !values[i].is_nan() => values[i].to_string(),
            (Self::Flags(values), Some(i)) => u8::from(values[i]).to_string(),
            (Self::Sets(values), Some(i)) => set_text(values[i].iter()),
            (Self::Counts(_), None) => "0".to_owned(),
            _ => String::new(),
        }
    }
}
