//! What is in tables that no table of measurements should have.

mod codes;
mod forgotten_id;

pub(crate) use forgotten_id::forgotten_id;

use crate::Table;

/// Columns and tables of fewer rows give no evidence.
const FEWEST_ROWS: usize = 10;

/// A line for each finding.
pub(crate) fn warnings(tables: &[Table]) -> Vec<String> {
    (0..tables.len()).flat_map(|t| codes::warnings(tables, t)).collect()
}

#[cfg(test)]
mod tests {
    use crate::Table;
    use ndarray::Array2;

    /// A table of 30 rows with these columns.
    pub(super) fn table(
        name: &str,
        ids: Option<Vec<String>>,
        columns: &[(&str, &dyn Fn(usize) -> f64)],
    ) -> Table {
        let n = ids.as_ref().map_or(30, Vec::len);
        Table {
            name: name.into(),
            path: format!("{name}.csv").into(),
            ids,
            labels: None,
            features: columns.iter().map(|(name, _)| (*name).to_owned()).collect(),
            left_out: Vec::new(),
            values: Array2::from_shape_fn((n, columns.len()), |(i, j)| columns[j].1(i)).into(),
        }
    }
}
