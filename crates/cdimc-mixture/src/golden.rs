//! Results of the NumPy reference of the specification on its small data.

use crate::coordinates::profile::ColumnProfile;
use crate::coordinates::projection::Projection;
use crate::coordinates::{Kind, observe};
use crate::criterion::shared_information;
use crate::model::Prior;
use crate::model::em::{Em, Fit};
use crate::model::passes::moments_of;
use crate::observations::Observations;
use crate::responsibilities::Responsibilities;
use crate::search::Search;
use crate::search::merge_split::values_of_groups;
use crate::watch::Watch;
use approx::{assert_abs_diff_eq, assert_relative_eq};
use cdimc_core::Silent;
use cdimc_data::{MultiView, Seed, ViewMask};
use ndarray::{Array2, ArrayD};
use std::fs::File;
use std::io::BufReader;

const PRIOR: Prior = Prior { nu: 5.0, kappa: 4.0, diagonal: 0.05 };

struct Golden(npyz::npz::NpzArchive<BufReader<File>>);

impl Golden {
    fn array<T: npyz::Deserialize>(&mut self, name: &str) -> ArrayD<T> {
        let npy = self.0.by_name(name).unwrap().unwrap();
        let shape: Vec<usize> = npy.shape().iter().map(|&n| n as usize).collect();
        assert_eq!(npy.order(), npyz::Order::C);
        ArrayD::from_shape_vec(shape, npy.into_vec().unwrap()).unwrap()
    }

    fn matrix(&mut self, name: &str) -> Array2<f64> {
        self.array(name).into_dimensionality().unwrap()
    }

    fn number(&mut self, name: &str) -> f64 {
        self.array::<f64>(name).first().copied().unwrap()
    }
}

/// Opens the reference and observes its data.
fn opened() -> (Golden, Observations) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/view_mixture.npz");
    let mut golden = Golden(npyz::npz::NpzArchive::open(path).unwrap());
    let mask: Array2<bool> = golden.array("mask").into_dimensionality().unwrap();
    let views = (0..3).map(|v| golden.matrix(&format!("x{v}"))).collect();
    let data = MultiView::new(views, ViewMask::new(mask).unwrap()).unwrap();
    let profiles = ColumnProfile::of_part(&data, &data);
    let projection = |v| {
        let rows = data.mask().observed_rows(v);
        Projection::fit(data.matrix(v), &rows, &profiles[v], 20, Kind::Unit).unwrap()
    };
    let projections: Vec<Projection> = (0..3).map(projection).collect();
    let observations = observe(&data, &projections);
    (golden, observations)
}

/// The reference stops at a relative change of the log-likelihood, `value`.
fn em<'a>(observations: &'a Observations, watch: &'a Watch<'a>, value: f64) -> Em<'a> {
    let tolerance = 1e-5 * value.abs() / observations.n_samples as f64;
    Em { iterations: 100, tolerance, ..Em::new(observations, &PRIOR, watch) }
}

fn assert_near(found: &Responsibilities, expected: &Array2<f64>) {
    assert_abs_diff_eq!(found.to_array(), expected, epsilon = 1e-8);
}

#[test]
fn coordinates_have_the_inner_products_of_the_reference() {
    let (mut golden, observations) = opened();
    for v in 0..3 {
        let mut rows = Vec::new();
        observations.each_row(v, |_, row| rows.extend_from_slice(row));
        let dim = (observations.n_observed(v), observations.widths[v]);
        let z = Array2::from_shape_vec(dim, rows).unwrap();
        let expected = golden.matrix(&format!("gram{v}"));
        assert_abs_diff_eq!(z.dot(&z.t()), expected, epsilon = 1e-8);
    }
}

#[test]
fn every_step_of_em_matches_the_reference() {
    let (mut golden, observations) = opened();
    for iterations in [1, 2, 5, 100] {
        let fit = ended(&mut golden, &observations, iterations);
        let value = golden.number(&format!("value{iterations}"));
        assert_relative_eq!(fit.log_likelihood, value, max_relative = 1e-8);
        assert_near(&fit.responsibilities, &golden.matrix(&format!("R{iterations}")));
    }
}

fn ended(golden: &mut Golden, observations: &Observations, iterations: usize) -> Fit {
    let watch = Watch::new(&Silent, "em", 1, observations.n_samples);
    let start = Responsibilities::from_array(golden.matrix("R0").view());
    let value = golden.number(&format!("value{iterations}"));
    let em = Em { iterations, ..em(observations, &watch, value) };
    em.run(moments_of(observations, &start)).unwrap()
}

#[test]
fn groups_halves_and_shared_information_match_the_reference() {
    let (mut golden, observations) = opened();
    let fit = ended(&mut golden, &observations, 100);
    let pooled = golden.matrix("pooled0");
    for ((a, b), &expected) in pooled.indexed_iter().filter(|((a, b), _)| b <= a) {
        assert_abs_diff_eq!(fit.pooled[0][a * 6 + b], expected, epsilon = 1e-8);
    }
    let search = Search {
        observations: &observations,
        prior: &PRIOR,
        n_clusters: 4,
        effort: (1, 1),
        seed: Seed::new(0),
    };
    let rows = (&observations, &fit.responsibilities);
    let groups = [vec![0], vec![1], vec![2], vec![3], vec![0, 1]];
    let found = values_of_groups(&search, rows, &fit.pooled, &groups);
    let mut expected: Vec<f64> = golden.array("groups").iter().copied().collect();
    expected.push(golden.number("merged01"));
    for (found, expected) in found.iter().zip(expected) {
        assert_relative_eq!(*found, expected, max_relative = 1e-8);
    }
    let shared = shared_information(&observations, &fit.responsibilities, &PRIOR);
    let expected = golden.number("shared_information");
    assert_relative_eq!(shared.information, expected, max_relative = 1e-8);

    let rows: Vec<usize> = golden.array::<i64>("rows").iter().map(|&i| i as usize).collect();
    let labels = fit.responsibilities.labels();
    assert_eq!(rows, (0..240).filter(|&i| labels[i] == 0).collect::<Vec<_>>());
    let halves =
        Array2::from_shape_fn((rows.len(), 2), |(i, c)| if i % 2 == c { 0.8 } else { 0.2 });
    let halves = Responsibilities::from_array(halves.view());
    let few = observations.select(&rows);
    let watch = Watch::new(&Silent, "em", 1, rows.len());
    let expected = golden.number("half_value");
    let em = em(&few, &watch, 10.0 * expected);
    let run = Em { iterations: 15, fixed_pooled: Some(&fit.pooled), ..em };
    let split = run.run(moments_of(&few, &halves)).unwrap();
    assert_near(&split.responsibilities, &golden.matrix("half"));
    assert_relative_eq!(split.log_likelihood, expected, max_relative = 1e-8);
}
