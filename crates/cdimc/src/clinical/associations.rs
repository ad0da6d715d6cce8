//! Whether a column of numbers or categories differs between clusters.

use super::variables::Variable;
use crate::numbers::{digits, n_clusters, short};
use crate::statistics::{Contingency, kruskal_wallis};
use cdimc_data::Seed;
use cdimc_metrics::ari;

/// Maximum number of tables with given sums that the exact test enumerates, in about 10 ms.
const MOST_TABLES: usize = 200_000;
/// Number of random tables that are drawn for larger problems.
const N_PERMUTATIONS: usize = 9999;

/// Association of a clinical column with the clusters.
#[derive(Debug, Clone)]
pub struct Association {
    /// The column.
    pub column: String,
    /// Result of the test, or the reason why the column was not tested.
    pub outcome: Result<Outcome, String>,
}

/// Result of a test.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Outcome {
    /// The test's name.
    pub test: &'static str,
    /// Number of samples with a value.
    pub n: usize,
    /// H of Kruskal and Wallis, or Pearson's chi squared.
    pub statistic: f64,
    /// The p value.
    pub p: f64,
    /// The q value among all tests of the table.
    pub q: f64,
    /// Name of the effect size.
    pub effect_name: &'static str,
    /// Effect size in 0..=1: eta squared, or Cramer's V.
    pub effect: f64,
    /// Adjusted Rand index of clusters and categories; `None` for numbers.
    pub ari: Option<f64>,
    /// Typical value of each cluster: the median, the share of the last of two categories, or the most common category.
    pub typical: Vec<String>,
}

impl Association {
    pub(super) fn new(name: &str, variable: Result<&Variable, &String>, labels: &[usize]) -> Self {
        let outcome = match variable {
            Err(reason) => Err(reason.clone()),
            Ok(Variable::Numbers(numbers)) => of_numbers(numbers, labels),
            Ok(Variable::Categories { names, of }) => of_categories(name, names, of, labels),
        };
        Self { column: name.to_owned(), outcome }
    }

    pub(super) fn row(&self) -> Vec<String> {
        let cells = match &self.outcome {
            Err(reason) => [vec![String::new(); 9], vec![reason.clone()]].concat(),
            Ok(found) => vec![
                found.test.into(),
                found.n.to_string(),
                digits(found.statistic),
                digits(found.p),
                digits(found.q),
                found.effect_name.into(),
                digits(found.effect),
                found.ari.map(digits).unwrap_or_default(),
                found.summary(),
                String::new(),
            ],
        };
        [vec![self.column.clone()], cells].concat()
    }
}

impl Outcome {
    /// Returns what is typical of each cluster, in one line.
    pub(crate) fn summary(&self) -> String {
        let there = self.typical.iter().enumerate().filter(|(_, text)| !text.is_empty());
        there.map(|(cluster, text)| format!("{cluster}: {text}")).collect::<Vec<_>>().join("; ")
    }
}

/// Reason why a column is not tested: its values are in fewer than two clusters, or all equal.
const TOO_FEW_VALUES: &str = "values in fewer than two clusters, or all the same";

fn of_numbers(numbers: &[Option<f64>], labels: &[usize]) -> Result<Outcome, String> {
    let known = numbers.iter().zip(labels).filter_map(|(x, &label)| Some(((*x)?, label)));
    let (values, groups): (Vec<f64>, Vec<usize>) = known.unzip();
    let found = kruskal_wallis(&values, &groups).ok_or(TOO_FEW_VALUES)?;
    let median = |cluster: usize| {
        let members = values.iter().zip(&groups).filter(|(_, group)| **group == cluster);
        let mut members: Vec<f64> = members.map(|(x, _)| *x).collect();
        members.sort_by(f64::total_cmp);
        let (n, middle) = (members.len(), members.len() / 2);
        match n {
            0 => String::new(),
            _ if n % 2 == 1 => short(members[middle]),
            _ => short(f64::midpoint(members[middle - 1], members[middle])),
        }
    };
    Ok(Outcome {
        test: "Kruskal-Wallis",
        n: values.len(),
        statistic: found.statistic,
        p: found.p,
        q: f64::NAN,
        effect_name: "eta squared",
        effect: found.eta_squared,
        ari: None,
        typical: (0..n_clusters(labels)).map(median).collect(),
    })
}

fn of_categories(
    column: &str,
    names: &[String],
    of: &[Option<usize>],
    labels: &[usize],
) -> Result<Outcome, String> {
    let known = of.iter().zip(labels).filter_map(|(c, &label)| Some(((*c)?, label)));
    let (categories, groups): (Vec<usize>, Vec<usize>) = known.unzip();
    let table = Contingency::new(&categories, &groups).ok_or(TOO_FEW_VALUES)?;
    let found = table.chi_squared();
    let (test, p) = if !table.is_sparse() {
        ("chi squared", found.p)
    } else if let Some(p) = table.fisher(MOST_TABLES) {
        ("Fisher, exact", p)
    } else {
        // The value of a column does not depend on the other columns.
        let seed = Seed::new(0).stream("associations").stream(column);
        ("Fisher, up to 9999 tables drawn", table.fisher_drawn(N_PERMUTATIONS, &mut seed.rng()))
    };
    let typical = |cluster: usize| {
        let mut counts = vec![0_usize; names.len()];
        let members = categories.iter().zip(&groups).filter(|(_, group)| **group == cluster);
        members.for_each(|(category, _)| counts[*category] += 1);
        let n: usize = counts.iter().sum();
        let shown = if names.len() == 2 {
            1
        } else {
            // The first of the most common ones.
            (0..names.len()).rev().max_by_key(|&category| counts[category]).unwrap_or(0)
        };
        match n {
            0 => String::new(),
            n => format!("{} ({:.0} %)", names[shown], 100.0 * counts[shown] as f64 / n as f64),
        }
    };
    Ok(Outcome {
        test,
        n: categories.len(),
        statistic: found.statistic,
        p,
        q: f64::NAN,
        effect_name: "Cramer's V",
        effect: found.cramers_v,
        ari: ari(&categories, &groups).ok(),
        typical: (0..n_clusters(labels)).map(typical).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sparse_tables_get_an_exact_test_and_others_pearsons() {
        let labels: Vec<usize> = (0..60).map(|i| i % 3).collect();
        let names = ["no".to_owned(), "yes".to_owned()];
        let test = |of: &dyn Fn(usize) -> usize| {
            let of: Vec<Option<usize>> = (0..60).map(|i| Some(of(i))).collect();
            of_categories("smoker", &names, &of, &labels).unwrap()
        };
        let even = test(&|i| i / 3 % 2);
        assert_eq!(
            (even.test, even.p, even.typical[0].as_str()),
            ("chi squared", 1.0, "yes (50 %)")
        );
        let rare = test(&|i| usize::from(i < 2));
        assert_eq!(rare.test, "Fisher, exact");
        // Two of sixty, in two of three clusters: chi squared is 30/29.
        assert!((rare.effect - (0.5_f64 / 29.0).sqrt()).abs() < 1e-12, "{rare:?}");
        assert_eq!(test(&|i| usize::from(i % 3 == 0)).ari.map(|ari| ari > 0.5), Some(true));
    }

    #[test]
    fn what_one_cluster_alone_has_is_not_tested() {
        let numbers: Vec<Option<f64>> = (0..9).map(|i| (i < 3).then_some(f64::from(i))).collect();
        let labels = [0, 0, 0, 1, 1, 1, 2, 2, 2];
        assert_eq!(of_numbers(&numbers, &labels).unwrap_err(), TOO_FEW_VALUES);
    }
}
