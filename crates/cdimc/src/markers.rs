//! Markers: the columns in which each cluster differs most from the other samples, for any method.
//!
//! A column that was used for clustering differs between clusters even if there are no true clusters. Therefore a
//! column is tested against the clusters from all views except its own.

use crate::numbers::{n_clusters, six_digits};
use crate::tables::Joined;
use cdimc_data::MultiView;
use cdimc_mixture::MixtureModel;
use cdimc_statistics::{Contrast, benjamini_hochberg, contrasts};

/// Number of columns per view listed for a cluster.
pub const LISTED: usize = 100;

/// A column that sets a cluster apart from the other samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Marker {
    /// Index of the view.
    pub view: usize,
    /// Index of the column in the view.
    pub column: usize,
    /// Difference between the cluster and the other samples with this view, in normal scores of the column for `ranks`, else
    /// in the values of the file.
    pub contrast: Contrast,
    /// Means in the cluster and in the other samples, in the units of the file.
    pub means: (f64, f64),
    /// Test of the column against the clusters from the other views.
    pub test: Option<MarkerTest>,
}

impl Marker {
    pub(crate) fn names<'a>(&self, samples: &'a Joined) -> [&'a str; 2] {
        [&samples.names[self.view], &samples.features[self.view][self.column]]
    }
}

/// Test of a column against the clusters from all views except its own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MarkerTest {
    /// Difference between the matching cluster and the other samples.
    pub contrast: Contrast,
    /// q value by Benjamini and Hochberg, over all columns of the view and all clusters.
    pub q: f64,
}

/// Markers of all clusters.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Markers {
    /// Columns of every cluster and view, most different first.
    pub clusters: Vec<Vec<Vec<Marker>>>,
    /// Reason why no column was tested; `None` if columns were tested.
    pub untested: Option<&'static str>,
}

/// Clustered samples, as the method received them.
#[derive(Debug, Clone, Copy)]
pub struct Clustered<'a> {
    /// The views.
    pub data: &'a MultiView,
    /// Cluster of every sample.
    pub labels: &'a [usize],
    /// Mixture with these clusters. Columns of views in `ranks` are compared in its normal scores.
    pub model: Option<&'a MixtureModel>,
    /// Clusters from all other views for every view, numbered as in `labels`; `None` for a sample without another view.
    pub by_others: Option<&'a [Vec<Option<usize>>]>,
}

impl Markers {
    /// Explanation of the q value of a column, for readers of the report.
    pub const MEANING: &'static str = "q tests a column against the clusters from all views except its own, so that no \
        column is tested against clusters that it made. A small q means that the view is associated with the other views, \
        by biology or by a batch that they share.";

    /// Returns, per cluster and view, the `most` columns that differ most.
    ///
    /// # Panics
    /// If there is not one label for every sample.
    pub fn of(clustered: &Clustered<'_>, most: usize) -> Self {
        let n_clusters = n_clusters(clustered.labels);
        let mut clusters = vec![Vec::new(); n_clusters];
        for view in 0..clustered.data.n_views() {
            let mut found = clustered.of_view(view, n_clusters);
            for (markers, found) in clusters.iter_mut().zip(&mut found) {
                // Ties keep the order of the columns, so that the same data give the same list.
                let size = |marker: &Marker| marker.contrast.difference.abs();
                found.sort_by(|a, b| size(b).total_cmp(&size(a)));
                found.truncate(most);
                markers.push(std::mem::take(found));
            }
        }
        let is_tested = clusters.iter().flatten().flatten().any(|marker| marker.test.is_some());
        let untested = match clustered.model {
            _ if is_tested => None,
            _ if n_clusters < 2 => Some("there is one cluster"),
            _ if clustered.data.n_views() == 1 => Some(
                "there is one view, and a test against clusters that a column helped to make is invalid",
            ),
            None => Some("only t-mixture can compute clusters from the other views"),
            Some(_) => Some("too few samples have other views that separate the clusters"),
        };
        Self { clusters, untested }
    }

    /// Returns header and rows of `markers.csv`.
    pub fn table(
        &self,
        views: &[String],
        columns: &[Vec<String>],
    ) -> (Vec<&'static str>, Vec<Vec<String>>) {
        let header = "cluster,view,column,difference,lower,upper,auc,mean_inside,mean_outside,n_inside,n_outside,\
                      difference_by_others,p,q";
        let row = |cluster: usize, marker: &Marker| {
            let Contrast { difference, interval: (lower, upper), auc, n, .. } = marker.contrast;
            let (view, column) = (marker.view, marker.column);
            let mut row =
                vec![cluster.to_string(), views[view].clone(), columns[view][column].clone()];
            let (inside, outside) = marker.means;
            row.extend([difference, lower, upper, auc, inside, outside].map(six_digits));
            row.extend([n.0, n.1].map(|n| n.to_string()));
            row.extend(match marker.test {
                Some(MarkerTest { contrast: Contrast { difference, p, .. }, q }) => {
                    [difference, p, q].map(six_digits)
                }
                None => Default::default(),
            });
            row
        };
        let of_clusters = self.clusters.iter().enumerate();
        let rows = of_clusters.flat_map(|(cluster, views)| {
            views.iter().flatten().map(move |marker| row(cluster, marker))
        });
        (header.split(',').collect(), rows.collect())
    }

    /// Returns all markers of a cluster, most different first.
    pub fn of_cluster(&self, cluster: usize) -> Vec<&Marker> {
        let mut all: Vec<&Marker> = self.clusters[cluster].iter().flatten().collect();
        all.sort_by(|a, b| b.contrast.difference.abs().total_cmp(&a.contrast.difference.abs()));
        all
    }
}

impl Clustered<'_> {
    /// Returns the columns of a view by cluster.
    fn of_view(&self, view: usize, n_clusters: usize) -> Vec<Vec<Marker>> {
        let rows = self.data.mask().observed_rows(view);
        let groups: Vec<usize> = rows.iter().map(|&i| self.labels[i]).collect();
        let others = self.by_others.map(|by_others| {
            let of_row = |(place, &i): (usize, &usize)| Some((place, by_others[view][i]?));
            rows.iter().enumerate().filter_map(of_row).unzip::<_, _, Vec<usize>, Vec<usize>>()
        });
        let x = self.data.matrix(view);
        let of_column = |column: usize, given: Vec<f64>| {
            let scaled = self.model.and_then(|model| model.normal_scores(view, column, &given));
            let values = scaled.as_deref().unwrap_or(&given);
            let tested = others.as_ref().map(|(places, groups)| {
                let values: Vec<f64> = places.iter().map(|&place| values[place]).collect();
                // The other views may distinguish more clusters than have samples here.
                let n_clusters = groups.iter().fold(n_clusters, |n, &group| n.max(group + 1));
                contrasts(&values, groups, n_clusters)
            });
            let means = means(&given, &groups, n_clusters);
            let marker = |cluster: usize, contrast: Contrast| {
                let test = tested.as_ref().and_then(|tested| tested[cluster]);
                let test = test.map(|contrast| MarkerTest { contrast, q: f64::NAN });
                Marker { view, column, contrast, means: means[cluster], test }
            };
            let found = contrasts(values, &groups, n_clusters).into_iter().enumerate();
            found.map(|(cluster, found)| Some(marker(cluster, found?))).collect()
        };
        let columns: Vec<Vec<Option<Marker>>> = x.map_columns(&rows, of_column);
        let mut found = vec![Vec::new(); n_clusters];
        for column in columns {
            for (found, marker) in found.iter_mut().zip(column) {
                found.extend(marker);
            }
        }
        let mut tests: Vec<&mut MarkerTest> =
            found.iter_mut().flatten().filter_map(|marker| marker.test.as_mut()).collect();
        let q = benjamini_hochberg(&tests.iter().map(|test| test.contrast.p).collect::<Vec<_>>());
        tests.iter_mut().zip(q).for_each(|(test, q)| test.q = q);
        found
    }
}

/// Returns the means of each group and of all samples outside it.
fn means(values: &[f64], groups: &[usize], n_groups: usize) -> Vec<(f64, f64)> {
    let unit = values.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
    let unit = if unit > 0.0 { unit } else { 1.0 };
    let (mut sums, mut sizes) = (vec![0.0; n_groups], vec![0.0; n_groups]);
    for (&group, x) in groups.iter().zip(values) {
        sums[group] += x / unit;
        sizes[group] += 1.0;
    }
    // The total minus the group itself would leave only rounding errors of small other groups.
    let (before, after) = (sums_before(sums.iter()), sums_before(sums.iter().rev()));
    let size: f64 = sizes.iter().sum();
    let others = before.into_iter().zip(after.into_iter().rev()).map(|(a, b)| a + b);
    let of = |((s, n), others): ((&f64, &f64), f64)| (s / n * unit, others / (size - n) * unit);
    sums.iter().zip(&sizes).zip(others).map(of).collect()
}

/// Returns, for every value, the sum of the values before it.
fn sums_before<'a>(values: impl Iterator<Item = &'a f64>) -> Vec<f64> {
    let of = |sum: &mut f64, value: &f64| Some(std::mem::replace(sum, *sum + value));
    values.scan(0.0, of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use cdimc_data::Sparse;
    use ndarray::array;

    fn found(data: &MultiView, labels: &[usize], most: usize) -> Markers {
        Markers::of(&Clustered { data, labels, model: None, by_others: None }, most)
    }

    fn tested(data: &MultiView, labels: &[usize], by_others: &[Vec<Option<usize>>]) -> Markers {
        Markers::of(&Clustered { data, labels, model: None, by_others: Some(by_others) }, 9)
    }

    #[test]
    fn the_column_that_differs_comes_first() {
        let view = array![[0.0, 5.0], [0.2, 4.0], [9.0, 5.0], [9.2, 4.0]];
        let data = MultiView::from_nan_rows(vec![view]).unwrap();
        let found = found(&data, &[0, 0, 1, 1], 1);
        let first = |cluster: usize| found.clusters[cluster][0][0];
        assert_eq!((found.clusters[0][0].len(), first(0).column, first(1).column), (1, 0, 0));
        assert!(first(0).contrast.difference < -30.0 && first(1).contrast.difference > 30.0);
        let (inside, outside) = first(0).means;
        assert!((inside - 0.1).abs() < 1e-12 && (outside - 9.1).abs() < 1e-12);
        assert!(found.untested.unwrap().starts_with("there is one view"));
    }

    #[test]
    fn of_one_cluster_nothing_is_tested_whatever_the_method() {
        let view = array![[0.0], [1.0], [2.0], [4.0]];
        let data = MultiView::from_nan_rows(vec![view.clone(), view]).unwrap();
        assert_eq!(found(&data, &[0; 4], 9).untested, Some("there is one cluster"));
    }

    #[test]
    fn a_cluster_of_huge_values_hides_no_mean_of_the_others() {
        let found = means(&[1.0, 1e18, 3.0, 1e18, 5.0], &[0, 1, 2, 1, 2], 3);
        assert!((found[1].1 - 3.0).abs() < 1e-12 && (found[1].0 / 1e18 - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_column_of_a_sparse_view_is_compared_as_it_were_of_a_dense_one() {
        let (starts, columns) = (vec![0, 2, 3, 3, 5, 6], vec![0, 2, 2, 0, 1, 2]);
        let sparse = Sparse::from_rows(3, starts, columns, vec![1., 4., 2., 7., 6., 5.]).unwrap();
        let dense = MultiView::from_nan_rows(vec![sparse.dense()]).unwrap();
        let sparse = MultiView::from_nan_rows(vec![sparse]).unwrap();
        let labels = [0, 0, 0, 1, 1];
        assert_eq!(found(&sparse, &labels, 9), found(&dense, &labels, 9));
        assert_eq!(found(&dense, &labels, 9).clusters[0][0].len(), 3);
    }

    #[test]
    fn missing_rows_units_and_constant_columns_change_nothing() {
        let nan = f64::NAN;
        let view = |s: f64| {
            array![
                [0.0, s, 1.0],
                [s, s, 1.0],
                [nan, nan, nan],
                [5.0 * s, s, 2.0],
                [4.0 * s, s, 1.0]
            ]
        };
        let other = array![[1.0], [2.0], [3.0], [4.0], [6.0]];
        let all = |s: f64| -> Vec<Marker> {
            let data = MultiView::from_nan_rows(vec![view(s), other.clone()]).unwrap();
            found(&data, &[0, 0, 1, 1, 1], 9).clusters.into_iter().flatten().flatten().collect()
        };
        let (one, tiny, huge) = (all(1.0), all(1e-280), all(1e280));
        for (a, b) in one.iter().zip(&tiny).chain(one.iter().zip(&huge)) {
            assert_eq!((a.view, a.column), (b.view, b.column));
            assert!((a.contrast.difference / b.contrast.difference - 1.0).abs() < 1e-9);
        }
        assert!(one.iter().all(|marker| (marker.view, marker.column) != (0, 1)));
        assert_eq!(one.len(), 6);
    }

    #[test]
    fn a_test_is_against_the_clusters_of_the_other_views() {
        let n = 40;
        let column = |of: fn(usize) -> usize| {
            ndarray::Array2::from_shape_fn((n, 1), |(i, _)| (of(i) * 10 + i % 7) as f64)
        };
        let data = MultiView::from_nan_rows(vec![column(|i| i % 2), column(|i| i / 20)]).unwrap();
        let labels: Vec<usize> = (0..n).map(|i| i % 2).collect();
        // The clusters of the second view are unrelated to the first view.
        let by_others = [
            (0..n).map(|i| Some(i / 20)).collect::<Vec<_>>(),
            (0..n).map(|i| (i > 0).then_some(i / 20)).collect(),
        ];
        let found = tested(&data, &labels, &by_others);
        let [first, second] = [0, 1].map(|view| found.clusters[0][view][0]);
        assert!(first.contrast.p < 1e-6 && first.test.unwrap().q > 0.3, "{first:?}");
        assert!(second.contrast.p > 0.3 && second.test.unwrap().q < 1e-6, "{second:?}");
        assert_eq!(second.test.unwrap().contrast.n, (19, 20));
        assert_eq!(found.untested, None);
    }

    #[test]
    fn the_other_views_may_have_a_cluster_where_all_views_have_an_empty_one() {
        let view = ndarray::Array2::from_shape_fn((12, 1), |(i, _)| (i % 5) as f64);
        let data = MultiView::from_nan_rows(vec![view.clone(), view]).unwrap();
        let labels: Vec<usize> = (0..12).map(|i| i % 2).collect();
        let by_others = vec![(0..12).map(|i| Some(i % 3)).collect::<Vec<_>>(); 2];
        let found = tested(&data, &labels, &by_others);
        assert_eq!(found.clusters.len(), 2);
        assert_eq!(found.clusters[1][0][0].test.unwrap().contrast.n, (4, 8));
    }

    #[test]
    fn columns_are_untested_with_a_reason_if_few_samples_have_two_views() {
        use cdimc_core::{Clusterer, Silent};
        use cdimc_data::Seed;
        let view = |there: std::ops::Range<usize>| {
            ndarray::Array2::from_shape_fn((24, 2), |(i, j)| {
                let value = (10 * (i % 2) + (i * 7 + 3 * j) % 5) as f64;
                if there.contains(&i) { value } else { f64::NAN }
            })
        };
        let data = MultiView::from_nan_rows(vec![view(0..13), view(12..24)]).unwrap();
        let settings = cdimc_mixture::TMixture { starts: 2, ..Default::default() };
        let (seed, silent) = (Seed::new(1), Silent);
        let fitted = settings.fit(&data, 2, seed, &silent).unwrap();
        let model = MixtureModel::from_bytes(&fitted.model.unwrap().to_bytes().unwrap()).unwrap();
        let samples = model.clone().fitted_to(&data).unwrap();
        let by_others = samples.labels_by_others(seed, &silent).unwrap().unwrap();
        let clustered = Clustered {
            data: &data,
            labels: &fitted.clustering.labels,
            model: Some(&model),
            by_others: Some(&by_others),
        };
        let reason = "too few samples have other views that separate the clusters";
        assert_eq!(Markers::of(&clustered, 9).untested, Some(reason));
    }
}
