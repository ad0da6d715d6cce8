//! Compares the factorization methods with NumPy, from the same initial values.
//!
//! `python tests/fixtures/factorizations.py` generates the numbers.

use super::{array, arrays, assert_all_close, assert_close, multi_view, read};
use crate::methods::daimc::{Daimc, DaimcFactors};
use crate::methods::mic::{Factors, Mic};
use crate::methods::omvc::{MissingWeight, Omvc, view::View};
use crate::methods::opimc::{Centers, Opimc};
use crate::shared::observed_rows::{Nonnegative, Observed};
use cdimc_core::Silent;
use ndarray::{Array2, Axis};
use serde_json::Value;

const FIXTURE: &str = include_str!("../../../tests/fixtures/factorizations.json");
const N_SAMPLES: usize = 60;
const CHUNK: usize = 20;
const ITERATIONS: usize = 5;

fn fixture() -> Value {
    serde_json::from_str(FIXTURE).unwrap()
}

#[test]
fn daimc_equals_the_reference_after_five_iterations() {
    let fixture = fixture();
    let data = multi_view(&fixture);
    let start = DaimcFactors {
        coefficients: array(&fixture["daimc_start_p"]),
        bases: arrays(&fixture["daimc_start_u"]),
        regressions: arrays(&fixture["daimc_start_b"]),
    };
    let settings = Daimc { alpha: 10.0, beta: 0.1, iterations: ITERATIONS, ..Daimc::default() };
    let views = settings.prepare(&data);
    let (found, objectives) = settings.iterate(&views, &data, start, &Silent).unwrap();
    assert_eq!(objectives.len(), ITERATIONS);
    assert_close("coefficients", &found.coefficients, &array(&fixture["daimc_p"]));
    assert_all_close("basis", &found.bases, &arrays(&fixture["daimc_u"]));
    assert_all_close("regression", &found.regressions, &arrays(&fixture["daimc_b"]));
}

#[test]
fn opimc_equals_the_reference_after_two_passes() {
    let fixture = fixture();
    let data = multi_view(&fixture);
    let (chunk_size, iterations, passes) = (CHUNK, ITERATIONS, 2);
    let settings = Opimc { alpha: 0.5, chunk_size, iterations, passes, ..Opimc::default() };
    let expected = arrays(&fixture["opimc_centers"]);
    let mut views: Vec<Centers> =
        expected.iter().map(|centers| Centers::new(Array2::zeros(centers.raw_dim()))).collect();
    let start = (&mut views[..], array(&fixture["opimc_memberships"]));
    let rows: Vec<usize> = (0..N_SAMPLES).collect();
    let labels = settings.iterate(&data, &rows, start, &Silent).unwrap().labels;
    assert_eq!(labels, read::<Vec<usize>>(&fixture["opimc_labels"]));
    let centers: Vec<Array2<f64>> = views.into_iter().map(|view| view.centers).collect();
    assert_all_close("centers", &centers, &expected);
}

#[test]
fn mic_equals_the_reference_after_five_rounds() {
    let fixture = fixture();
    let data = multi_view(&fixture);
    let settings = Mic { rounds: ITERATIONS, sweeps: ITERATIONS, ..Mic::default() };
    let views = settings.prepare(&data);
    let start = arrays(&fixture["mic_start_u"]).into_iter().zip(arrays(&fixture["mic_start_b"]));
    let mut factors: Vec<Factors> = views
        .iter()
        .zip(start)
        .map(|(view, (u, b))| Factors { u: u.select(Axis(0), &view.order), b })
        .collect();
    let consensus = settings.iterate(&views, &mut factors, &Silent).unwrap();
    let coefficients: Vec<_> = views.iter().zip(&factors).map(|(v, f)| v.restore(&f.u)).collect();
    let bases: Vec<_> = factors.into_iter().map(|factors| factors.b).collect();
    assert_close("consensus", &consensus, &array(&fixture["mic_consensus"]));
    assert_all_close("coefficients", &coefficients, &arrays(&fixture["mic_u"]));
    assert_all_close("basis", &bases, &arrays(&fixture["mic_b"]));
}

#[test]
fn omvc_equals_the_reference_after_one_pass_and_two_for_both_weights() {
    let fixture = fixture();
    let data = multi_view(&fixture);
    let start = arrays(&fixture["omvc_start_u"]);
    let totals: Vec<f64> = read(&fixture["omvc_totals"]);
    for (name, missing_weight) in
        [("full", MissingWeight::Full), ("presence", MissingWeight::Presence)]
    {
        for passes in 1..=2 {
            let (chunk_size, iterations) = (CHUNK, ITERATIONS);
            let settings =
                Omvc { chunk_size, passes, iterations, missing_weight, ..Omvc::default() };
            let start_views = arrays(&fixture["omvc_start_b"]).into_iter().zip(&totals).enumerate();
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
            let consensus = array(&fixture[format!("{stored}_consensus")]);
            let coefficients = arrays(&fixture[format!("{stored}_u")]);
            for (rows, found) in rows.chunks(CHUNK).zip(&found) {
                let expected = consensus.select(Axis(0), rows);
                assert_close(&format!("{stored} consensus"), &found.consensus, &expected);
                for (found, expected) in found.coefficients.iter().zip(&coefficients) {
                    let expected = expected.select(Axis(0), rows);
                    assert_close(&format!("{stored} coefficients"), found, &expected);
                }
            }
            let bases: Vec<Array2<f64>> = views.iter().map(|view| view.basis.clone()).collect();
            assert_all_close(&stored, &bases, &arrays(&fixture[format!("{stored}_b")]));
        }
    }
}
