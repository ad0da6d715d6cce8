//! Compares the factorization methods with NumPy, from the same initial values.
//!
//! `python tests/fixtures/factorizations.py` generates the numbers.

use super::{assert_all_close, assert_close};
use crate::methods::daimc::{Daimc, DaimcFactors};
use crate::methods::mic::{Mic, view::Factors};
use crate::methods::omvc::{MissingWeight, Omvc, view::View};
use crate::methods::opimc::{Opimc, centers::Centers};
use crate::shared::observed_rows::{Nonnegative, Observed};
use cdimc_core::Silent;
use cdimc_data::{MultiView, ViewMask};
use ndarray::{Array2, ArrayD, Axis};
use std::{fs::File, io::BufReader, path::PathBuf};

const N_SAMPLES: usize = 60;
const N_VIEWS: usize = 3;
const CHUNK: usize = 20;
const ITERATIONS: usize = 5;

struct Fixture(npyz::npz::NpzArchive<BufReader<File>>);

impl Fixture {
    fn open() -> Self {
        let path =
            PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/factorizations.npz");
        Self(npyz::npz::NpzArchive::open(path).unwrap())
    }

    fn array<T: npyz::Deserialize>(&mut self, name: &str) -> ArrayD<T> {
        let file = self.0.by_name(name).unwrap().unwrap();
        let shape: Vec<_> = file.shape().iter().map(|&length| length as usize).collect();
        assert_eq!(file.order(), npyz::Order::C);
        ArrayD::from_shape_vec(shape, file.into_vec().unwrap()).unwrap()
    }

    fn matrix(&mut self, name: &str) -> Array2<f64> {
        self.array(name).into_dimensionality().unwrap()
    }

    /// Returns `name0`, `name1`, ...: one matrix per view.
    fn matrices(&mut self, name: &str) -> Vec<Array2<f64>> {
        (0..N_VIEWS).map(|view| self.matrix(&format!("{name}{view}"))).collect()
    }

    fn data(&mut self) -> MultiView {
        let mask = ViewMask::new(self.matrix("mask").mapv(|w| w == 1.0)).unwrap();
        MultiView::new(self.matrices("x"), mask).unwrap()
    }
}

#[test]
fn daimc_equals_the_reference_after_five_iterations() {
    let mut fixture = Fixture::open();
    let data = fixture.data();
    let start = DaimcFactors {
        coefficients: fixture.matrix("daimc_start_p"),
        bases: fixture.matrices("daimc_start_u"),
        regressions: fixture.matrices("daimc_start_b"),
    };
    let settings = Daimc { alpha: 10.0, beta: 0.1, iterations: ITERATIONS, ..Daimc::default() };
    let views = settings.prepare(&data);
    let (found, objectives) = settings.iterate(&views, &data, start, &Silent).unwrap();
    assert_eq!(objectives.len(), ITERATIONS);
    assert_close("coefficients", &found.coefficients, &fixture.matrix("daimc_p"));
    assert_all_close("basis", &found.bases, &fixture.matrices("daimc_u"));
    assert_all_close("regression", &found.regressions, &fixture.matrices("daimc_b"));
}

#[test]
fn opimc_equals_the_reference_after_two_passes() {
    let mut fixture = Fixture::open();
    let data = fixture.data();
    let (chunk_size, iterations, passes) = (CHUNK, ITERATIONS, 2);
    let settings = Opimc { alpha: 0.5, chunk_size, iterations, passes, ..Opimc::default() };
    let expected = fixture.matrices("opimc_centers");
    let mut views: Vec<Centers> =
        expected.iter().map(|centers| Centers::new(Array2::zeros(centers.raw_dim()))).collect();
    let start = (&mut views[..], fixture.matrix("opimc_memberships"));
    let rows: Vec<usize> = (0..N_SAMPLES).collect();
    let labels = settings.iterate(&data, &rows, start, &Silent).unwrap().labels;
    let expected_labels: ArrayD<i64> = fixture.array("opimc_labels");
    let expected_labels: Vec<usize> = expected_labels.iter().map(|&label| label as usize).collect();
    assert_eq!(labels, expected_labels);
    let centers: Vec<Array2<f64>> = views.into_iter().map(|view| view.centers).collect();
    assert_all_close("centers", &centers, &expected);
}

#[test]
fn mic_equals_the_reference_after_five_rounds() {
    let mut fixture = Fixture::open();
    let data = fixture.data();
    let settings = Mic { rounds: ITERATIONS, sweeps: ITERATIONS, ..Mic::default() };
    let views = settings.prepare(&data);
    let start = fixture.matrices("mic_start_u").into_iter().zip(fixture.matrices("mic_start_b"));
    let mut factors: Vec<Factors> = views
        .iter()
        .zip(start)
        .map(|(view, (u, b))| Factors { u: u.select(Axis(0), &view.order), b })
        .collect();
    let consensus = settings.iterate(&views, &mut factors, &Silent).unwrap();
    let coefficients: Vec<_> = views.iter().zip(&factors).map(|(v, f)| v.restore(&f.u)).collect();
    let bases: Vec<_> = factors.into_iter().map(|factors| factors.b).collect();
    assert_close("consensus", &consensus, &fixture.matrix("mic_consensus"));
    assert_all_close("coefficients", &coefficients, &fixture.matrices("mic_u"));
    assert_all_close("basis", &bases, &fixture.matrices("mic_b"));
}

#[test]
fn omvc_equals_the_reference_after_one_pass_and_two_for_both_weights() {
    let mut fixture = Fixture::open();
    let data = fixture.data();
    let start = fixture.matrices("omvc_start_u");
    let totals: ArrayD<f64> = fixture.array("omvc_totals");
    for (name, missing_weight) in
        [("full", MissingWeight::Full), ("presence", MissingWeight::Presence)]
    {
        for passes in 1..=2 {
            let (chunk_size, iterations) = (CHUNK, ITERATIONS);
            let settings =
                Omvc { chunk_size, passes, iterations, missing_weight, ..Omvc::default() };
            let start_views = fixture.matrices("omvc_start_b").into_iter().zip(&totals).enumerate();
            let mut views: Vec<View> = start_views
                .map(|(v, (basis, &total))| {
                    let mut rows = Observed::raw(&data, v);
                    Nonnegative::Clip.apply(&mut rows.x);
                    View::new(rows, basis, total)
                })
                .collect();
            let start = |_, rows: &[usize]| start.iter().map(|u| u.select(Axis(0), rows)).collect();
            let rows: Vec<usize> = (0..N_SAMPLES).collect();
            let found = settings.iterate(&mut views, &rows, start, &Silent).unwrap();
            let stored = format!("omvc_{name}{passes}");
            let consensus = fixture.matrix(&format!("{stored}_consensus"));
            let coefficients = fixture.matrices(&format!("{stored}_u"));
            for (rows, found) in rows.chunks(CHUNK).zip(&found) {
                let expected = consensus.select(Axis(0), rows);
                assert_close(&format!("{stored} consensus"), &found.consensus, &expected);
                for (found, expected) in found.coefficients.iter().zip(&coefficients) {
                    let expected = expected.select(Axis(0), rows);
                    assert_close(&format!("{stored} coefficients"), found, &expected);
                }
            }
            let bases: Vec<Array2<f64>> = views.iter().map(|view| view.basis.clone()).collect();
            assert_all_close(&stored, &bases, &fixture.matrices(&format!("{stored}_b")));
        }
    }
}
