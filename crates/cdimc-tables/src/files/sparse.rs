//! Sparse matrices with their zeros filled in.

use crate::files::Budget;
use ndarray::Array2;

/// A matrix in compressed rows or compressed columns, both called lines here.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Compressed<'a> {
    /// Number of lines, and of places in a line.
    pub(crate) shape: [usize; 2],
    /// The first entry of each line, and the end of the last.
    pub(crate) starts: &'a [usize],
    /// The place of each entry in its line.
    pub(crate) places: &'a [usize],
    /// The value of each entry.
    pub(crate) entries: &'a [f64],
}

impl Compressed<'_> {
    /// The matrix `(n_lines, n_places)` with its zeros; entries of the same place are summed, as `SciPy`
    /// does.
    ///
    /// # Errors
    /// If the parts disagree, or the matrix exceeds the budget.
    pub(crate) fn dense(&self, budget: &Budget) -> Result<Array2<f64>, String> {
        let [n_lines, n_places] = self.shape;
        let flaw = |what: &str| Err(format!("damaged: the entries of a sparse matrix: {what}"));
        if self.starts.len().checked_sub(1) != Some(n_lines) {
            return flaw("there is not one start for each line");
        }
        let n_entries = self.entries.len().min(self.places.len());
        let ordered = self.starts.windows(2).all(|pair| pair[0] <= pair[1]);
        if self.starts[0] != 0 || !ordered || self.starts[n_lines] > n_entries {
            return flaw("the starts of its lines are out of order");
        }
        budget.values(&self.shape)?;
        let mut values = Array2::zeros((n_lines, n_places));
        for (line, ends) in self.starts.windows(2).enumerate() {
            for entry in ends[0]..ends[1] {
                let Some(value) = values.get_mut([line, self.places[entry]]) else {
                    return flaw("one lies outside");
                };
                *value += self.entries[entry];
            }
        }
        Ok(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn entries_of_one_place_are_summed_and_flawed_ones_refused() {
        let dense = |starts: &[usize], places: &[usize]| {
            let entries = &[1.0, 2.0, 4.0, 8.0];
            Compressed { shape: [2, 3], starts, places, entries }
                .dense(&Budget::of_file(0, Some(48)))
        };
        let good = dense(&[0, 3, 4], &[0, 2, 2, 1]);
        assert_eq!(good, Ok(array![[1.0, 0.0, 6.0], [0.0, 8.0, 0.0]]));
        for (starts, places) in [
            (&[0, 3, 5][..], &[0, 2, 2, 1][..]),
            (&[0, 3, 2], &[0, 2, 2, 1]),
            (&[1, 3, 4], &[0, 2, 2, 1]),
            (&[0, 3], &[0, 2, 2, 1]),
            (&[0, 3, 4], &[0, 2, 3, 1]),
            (&[0, 3, 4], &[0, 2, 2]),
        ] {
            assert!(dense(starts, places).is_err(), "{starts:?} {places:?}");
        }
    }
}
