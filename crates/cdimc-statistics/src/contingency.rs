//! Whether categories are spread unevenly over groups.

use crate::distributions::chi_squared_tail;
use rand::Rng;
use rand::seq::SliceRandom;

/// The part by which tables may be likelier than the one seen and still count as no likelier, as in R.
const AS_LIKELY: f64 = 1.0 + 1e-7;
/// Exceedances after which a permutation test has its answer (Besag and Clifford 1991).
const EXCEEDANCES: usize = 100;

/// Cells above which no table is enumerated: each is a call within a call, and so many cells have too many tables.
const MOST_CELLS: usize = 1000;

/// Pearson's chi squared without a correction for continuity.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct ChiSquared {
    /// The statistic.
    pub statistic: f64,
    /// Its degrees of freedom.
    pub degrees: usize,
    /// The p value.
    pub p: f64,
    /// The strength of the association in 0..=1, sqrt(chi squared / (n min(rows - 1, columns - 1))).
    pub cramers_v: f64,
}

/// How often each category (row) occurs in each group (column); those that never occur are left out.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Contingency {
    counts: Vec<Vec<usize>>,
    rows: Vec<usize>,
    columns: Vec<usize>,
}

impl Contingency {
    /// The table of these samples; `None` with fewer than two categories or groups.
    ///
    /// # Panics
    /// If there is not one group a category.
    pub fn new(categories: &[usize], groups: &[usize]) -> Option<Self> {
        assert_eq!(categories.len(), groups.len(), "one group a sample");
        let (rows, categories) = compact(categories);
        let (columns, groups) = compact(groups);
        if rows < 2 || columns < 2 {
            return None;
        }
        let mut counts = vec![vec![0; columns]; rows];
        for (category, group) in categories.into_iter().zip(groups) {
            counts[category][group] += 1;
        }
        let rows = counts.iter().map(|row| row.iter().sum()).collect();
        let columns = (0..columns).map(|j| counts.iter().map(|row| row[j]).sum()).collect();
        Some(Self { counts, rows, columns })
    }

    /// Pearson's test.
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

    /// Whether too few samples are expected for the chi squared distribution: less than 1 in a cell, or less than 5
    /// in more than a fifth of them (Cochran 1954).
    pub fn is_sparse(&self) -> bool {
        let cells = self.rows.iter().flat_map(|&r| self.columns.iter().map(move |&c| (r, c)));
        let expected: Vec<f64> = cells.map(|(r, c)| r as f64 * c as f64 / self.n()).collect();
        let few = expected.iter().filter(|&&e| e < 5.0).count();
        expected.iter().any(|&e| e < 1.0) || 5 * few > expected.len()
    }

    /// The p value of Fisher's exact test, in Freeman and Halton's form for more than two rows and columns: the chance
    /// of a table no likelier than this one, given the sums of its rows and columns. `None` if that takes more than
    /// `most` steps.
    pub fn fisher(&self, most: usize) -> Option<f64> {
        let (rows, columns) = (&self.rows, &self.columns);
        // Fewer and longer columns have fewer tables in each.
        let (rows, columns) =
            if rows.len() <= columns.len() { (rows, columns) } else { (columns, rows) };
        if rows.len() * columns.len() > MOST_CELLS {
            return None;
        }
        let factorials = self.factorials();
        let all = self.margins(&factorials);
        let cells = cells(&self.counts, &factorials);
        let mut tables = Tables {
            columns,
            factorials: &factorials,
            all,
            limit: (all - cells).exp() * AS_LIKELY,
            left: most,
            no_likelier: 0.0,
        };
        let mut free = rows.clone();
        tables.column(0, &mut free, 0.0)?;
        Some(tables.no_likelier.min(1.0))
    }

    /// As [`fisher`](Self::fisher), from tables drawn at random, at most so many; fewer where chance alone is often no
    /// likelier.
    pub fn fisher_drawn(&self, most: usize, rng: &mut impl Rng) -> f64 {
        let members = |sizes: &[usize]| -> Vec<usize> {
            sizes.iter().enumerate().flat_map(|(i, &n)| std::iter::repeat_n(i, n)).collect()
        };
        let (categories, mut groups) = (members(&self.rows), members(&self.columns));
        let factorials = self.factorials();
        let seen = cells(&self.counts, &factorials) - AS_LIKELY.ln();
        let mut no_likelier = 0;
        for drawn in 1..=most {
            groups.shuffle(rng);
            let mut counts = vec![vec![0; self.columns.len()]; self.rows.len()];
            for (&category, &group) in categories.iter().zip(&groups) {
                counts[category][group] += 1;
            }
            no_likelier += usize::from(cells(&counts, &factorials) >= seen);
            if no_likelier == EXCEEDANCES {
                return no_likelier as f64 / drawn as f64;
            }
        }
        (no_likelier + 1) as f64 / (most + 1) as f64
    }

    /// The logarithms of the factorials up to that of the samples.
    fn factorials(&self) -> Vec<f64> {
        let mut factorials = vec![0.0; self.rows.iter().sum::<usize>() + 1];
        (1..factorials.len()).for_each(|i| factorials[i] = factorials[i - 1] + (i as f64).ln());
        factorials
    }

    /// The logarithm of what all tables with these sums have in common.
    fn margins(&self, factorials: &[f64]) -> f64 {
        let margins = self.rows.iter().chain(&self.columns).map(|&m| factorials[m]).sum::<f64>();
        margins - factorials[factorials.len() - 1]
    }

    fn n(&self) -> f64 {
        self.rows.iter().sum::<usize>() as f64
    }
}

/// The logarithm by which a table is less likely than others with its sums.
fn cells(counts: &[Vec<usize>], factorials: &[f64]) -> f64 {
    counts.iter().flatten().map(|&count| factorials[count]).sum()
}

/// Numbers as `0..` without gaps, and how many there are.
fn compact(numbers: &[usize]) -> (usize, Vec<usize>) {
    let mut known = numbers.to_vec();
    known.sort_unstable();
    known.dedup();
    let place = |number: &usize| known.partition_point(|other| other < number);
    (known.len(), numbers.iter().map(place).collect())
}

/// All tables with given sums, column by column.
struct Tables<'a> {
    columns: &'a [usize],
    factorials: &'a [f64],
    /// Logarithm of the product of the sums' factorials over that of n.
    all: f64,
    /// Probability above which a table does not count.
    limit: f64,
    /// Steps that may still be taken.
    left: usize,
    no_likelier: f64,
}

impl Tables<'_> {
    /// Fills the columns from `column` on, where `free` is left of each row; `cells`: the logarithms of the factorials
    /// so far. `None` if it takes too long.
    fn column(&mut self, column: usize, free: &mut [usize], cells: f64) -> Option<()> {
        if column + 1 == self.columns.len() {
            self.left = self.left.checked_sub(1)?;
            let last: f64 = free.iter().map(|&count| self.factorials[count]).sum();
            let probability = (self.all - cells - last).exp();
            if probability <= self.limit {
                self.no_likelier += probability;
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

    /// Samples of a table.
    fn samples(counts: &[&[usize]]) -> (Vec<usize>, Vec<usize>) {
        let mut pairs = Vec::new();
        for (i, row) in counts.iter().enumerate() {
            for (j, &count) in row.iter().enumerate() {
                pairs.extend(std::iter::repeat_n((i, j), count));
            }
        }
        pairs.into_iter().unzip()
    }

    #[test]
    fn drawn_tables_come_near_the_exact_test() {
        let (categories, groups) = samples(&[&[5, 1, 0], &[1, 4, 3], &[2, 2, 6]]);
        let table = Contingency::new(&categories, &groups).unwrap();
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
    fn where_chance_reaches_it_often_few_tables_do() {
        let (categories, groups) = samples(&[&[10, 10], &[10, 10]]);
        let table = Contingency::new(&categories, &groups).unwrap();
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
