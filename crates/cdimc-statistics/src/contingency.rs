//! Association of categories with groups.

use crate::distributions::chi_squared_tail;
use rand::Rng;
use rand::seq::SliceRandom;

/// Tables up to this factor more probable than the observed table count as equally probable, as in R.
const TIE_FACTOR: f64 = 1.0 + 1e-7;
/// Number of exceedances that ends a permutation test (Besag and Clifford 1991).
const MAX_EXCEEDANCES: usize = 1000;

/// Largest number of cells for enumeration, which bounds the depth of the recursion.
const MAX_CELLS: usize = 1000;

/// Pearson's chi-squared test without continuity correction.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct ChiSquared {
    /// Statistic.
    pub statistic: f64,
    /// Degrees of freedom.
    pub degrees: usize,
    /// p value.
    pub p: f64,
    /// Strength of the association in 0..=1: sqrt(chi squared / (n min(rows - 1, columns - 1))).
    pub cramers_v: f64,
}

/// Counts per category (row) and group (column); empty rows and columns are left out.
#[derive(Debug, Clone, PartialEq)]
pub struct Contingency {
    counts: Vec<Vec<usize>>,
    rows: Vec<usize>,
    columns: Vec<usize>,
}

impl Contingency {
    /// Returns the table of these samples; `None` with fewer than two categories or groups.
    ///
    /// # Panics
    /// If the numbers of categories and groups differ.
    pub fn new(categories: &[usize], groups: &[usize]) -> Option<Self> {
        assert_eq!(categories.len(), groups.len(), "one group per sample");
        let (rows, categories) = compact(categories);
        let (columns, groups) = compact(groups);
        if rows < 2 || columns < 2 {
            return None;
        }
        let mut counts = vec![vec![0; columns]; rows];
        for (category, group) in categories.into_iter().zip(groups) {
            counts[category][group] += 1;
        }
        Some(Self::of_counts(counts))
    }

    /// Returns the table of at least one row of counts.
    fn of_counts(counts: Vec<Vec<usize>>) -> Self {
        let rows = counts.iter().map(|row| row.iter().sum()).collect();
        let columns = (0..counts[0].len()).map(|j| counts.iter().map(|row| row[j]).sum()).collect();
        Self { counts, rows, columns }
    }

    /// Computes Pearson's test.
    pub fn chi_squared(&self) -> ChiSquared {
        let (n, mut statistic) = (self.n(), 0.0);
        for (row, &of_row) in self.counts.iter().zip(&self.rows) {
            for (&count, &of_column) in row.iter().zip(&self.columns) {
                let expected = of_row as f64 * of_column as f64 / n;
                statistic += (count as f64 - expected).powi(2) / expected;
            }
        }
        let (rows, columns) = (self.rows.len() - 1, self.columns.len() - 1);
        let degrees = rows * columns;
        let p = chi_squared_tail(statistic, degrees);
        let cramers_v = (statistic / (n * rows.min(columns) as f64)).sqrt().min(1.0);
        ChiSquared { statistic, degrees, p, cramers_v }
    }

    /// Returns whether the expected counts are too small for the chi-squared distribution: below 1 in any cell, or below 5
    /// in more than a fifth of the cells (Cochran 1954).
    pub fn is_sparse(&self) -> bool {
        let cells = self.rows.iter().flat_map(|&r| self.columns.iter().map(move |&c| (r, c)));
        let expected: Vec<f64> = cells.map(|(r, c)| r as f64 * c as f64 / self.n()).collect();
        let few = expected.iter().filter(|&&e| e < 5.0).count();
        expected.iter().any(|&e| e < 1.0) || 5 * few > expected.len()
    }

    /// Returns the p value of Fisher's exact test (Freeman and Halton's form for more than two rows or columns): the
    /// probability, given the row and column sums, of tables that are at most as likely as this one. `None` if the
    /// enumeration takes more than `most` steps.
    pub fn fisher(&self, most: usize) -> Option<f64> {
        let (rows, columns) = (&self.rows, &self.columns);
        // The longer side gives the columns: shorter recursion per table.
        let (rows, columns) =
            if rows.len() <= columns.len() { (rows, columns) } else { (columns, rows) };
        if rows.len() * columns.len() > MAX_CELLS {
            return None;
        }
        let factorials = self.factorials();
        let sums = self.rows.iter().chain(&self.columns).map(|&sum| factorials[sum]).sum::<f64>();
        let all = sums - factorials[factorials.len() - 1];
        let cells = cells(&self.counts, &factorials);
        let mut tables = Tables {
            columns,
            factorials: &factorials,
            all,
            limit: (all - cells).exp() * TIE_FACTOR,
            left: most,
            tail: 0.0,
        };
        let mut free = rows.clone();
        tables.column(0, &mut free, 0.0)?;
        Some(tables.tail.min(1.0))
    }

    /// Like [`fisher`](Self::fisher), estimated from at most `most` random tables; it stops early if many of them are at most
    /// as likely as this one.
    pub fn fisher_drawn(&self, most: usize, rng: &mut impl Rng) -> f64 {
        let members = |sizes: &[usize]| -> Vec<usize> {
            sizes.iter().enumerate().flat_map(|(i, &n)| std::iter::repeat_n(i, n)).collect()
        };
        let (categories, mut groups) = (members(&self.rows), members(&self.columns));
        let factorials = self.factorials();
        let seen = cells(&self.counts, &factorials) - TIE_FACTOR.ln();
        let mut tail = 0;
        for drawn in 1..=most {
            groups.shuffle(rng);
            let mut counts = vec![vec![0; self.columns.len()]; self.rows.len()];
            for (&category, &group) in categories.iter().zip(&groups) {
                counts[category][group] += 1;
            }
            tail += usize::from(cells(&counts, &factorials) >= seen);
            if tail == MAX_EXCEEDANCES {
                return tail as f64 / drawn as f64;
            }
        }
        (tail + 1) as f64 / (most + 1) as f64
    }

    /// Logarithms of the factorials of `0..=n`.
    fn factorials(&self) -> Vec<f64> {
        let mut factorials = vec![0.0; self.rows.iter().sum::<usize>() + 1];
        (1..factorials.len()).for_each(|i| factorials[i] = factorials[i - 1] + (i as f64).ln());
        factorials
    }

    fn n(&self) -> f64 {
        self.rows.iter().sum::<usize>() as f64
    }
}

/// Sum of the log factorials of the cells; it is large for unlikely tables.
fn cells(counts: &[Vec<usize>], factorials: &[f64]) -> f64 {
    counts.iter().flatten().map(|&count| factorials[count]).sum()
}

/// Returns how many distinct numbers there are, and the numbers replaced by their ranks `0..`.
fn compact(numbers: &[usize]) -> (usize, Vec<usize>) {
    let mut known = numbers.to_vec();
    known.sort_unstable();
    known.dedup();
    let place = |number: &usize| known.partition_point(|other| other < number);
    (known.len(), numbers.iter().map(place).collect())
}

/// Enumeration of all tables with given sums, column by column.
struct Tables<'a> {
    columns: &'a [usize],
    factorials: &'a [f64],
    /// Logarithm of the product of the factorials of all sums, divided by n!.
    all: f64,
    /// Largest probability of a table that counts.
    limit: f64,
    /// Remaining number of steps.
    left: usize,
    tail: f64,
}

impl Tables<'_> {
    /// Fills the columns from `column` on; `free` is the rest of each row sum, `cells` the sum of log factorials so far.
    /// `None` if it takes too many steps.
    fn column(&mut self, column: usize, free: &mut [usize], cells: f64) -> Option<()> {
        if column + 1 == self.columns.len() {
            self.left = self.left.checked_sub(1)?;
            let last: f64 = free.iter().map(|&count| self.factorials[count]).sum();
            let probability = (self.all - cells - last).exp();
            if probability <= self.limit {
                self.tail += probability;
            }
            return Some(());
        }
        self.cell(column, 0, self.columns[column], free, cells)
    }

    fn cell(
        &mut self,
        column: usize,
        row: usize,
        rest: usize,
        free: &mut [usize],
        cells: f64,
    ) -> Option<()> {
        if row + 1 == free.len() {
            if rest > free[row] {
                return Some(());
            }
            free[row] -= rest;
            let done = self.column(column + 1, free, cells + self.factorials[rest]);
            free[row] += rest;
            return done;
        }
        let below: usize = free[row + 1..].iter().sum();
        for count in rest.saturating_sub(below)..=rest.min(free[row]) {
            free[row] -= count;
            let cells = cells + self.factorials[count];
            let done = self.cell(column, row + 1, rest - count, free, cells);
            free[row] += count;
            done?;
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand::rngs::SmallRng;

    #[test]
    fn drawn_tables_come_near_the_exact_test() {
        let table = Contingency::of_counts(vec![vec![5, 1, 0], vec![1, 4, 3], vec![2, 2, 6]]);
        assert!(table.is_sparse());
        let drawn = table.fisher_drawn(20_000, &mut SmallRng::seed_from_u64(1));
        let exact = table.fisher(1_000_000).unwrap();
        assert!((drawn - exact).abs() < 0.01, "{drawn} {exact}");
        assert_eq!(table.fisher(10), None, "too many tables");
    }

    #[test]
    fn thousands_of_categories_are_too_many_to_enumerate() {
        let (categories, groups) =
            (0..80_000).map(|i| (i / 2, i % 10)).unzip::<_, _, Vec<_>, Vec<_>>();
        assert_eq!(Contingency::new(&categories, &groups).unwrap().fisher(200_000), None);
    }

    #[test]
    fn likely_tables_need_few_draws() {
        let table = Contingency::of_counts(vec![vec![10; 2]; 2]);
        assert_eq!(table.fisher_drawn(9999, &mut SmallRng::seed_from_u64(1)), 1.0);
        assert!(!table.is_sparse());
    }

    #[test]
    fn one_category_or_one_group_is_no_table() {
        assert_eq!(Contingency::new(&[0, 0, 0], &[0, 1, 1]), None);
        assert_eq!(Contingency::new(&[0, 1, 2], &[4, 4, 4]), None);
        assert_eq!(Contingency::new(&[], &[]), None);
    }
}
