//! Comparisons of the methods with independent NumPy programs, from the same initial values.
//!
//! `fixtures/factorizations.py`, `fixtures/kernel_and_paired.py` and `fixtures/mkkm_ik.py` generate the numbers.

use crate::methods::daimc::{Daimc, DaimcFactors};
use crate::methods::mic::{Factors, Mic};
use crate::methods::omvc::view::View;
use crate::methods::omvc::{MissingWeight, Omvc};
use crate::methods::opimc::{Centers, Opimc};
use crate::methods::pmvc::PmvcFactors;
use crate::shared::kernels::KernelPartition;
use crate::shared::observed_rows::{Nonnegative, Observed, PairedViews};
use crate::{ImcGrmf, Img, Kernel, MkkmIk, MkkmIkMkc, Pmvc};
use cdimc_core::Silent;
use cdimc_data::{MultiView, ViewMask};
use ndarray::{Array2, Axis};
use serde::de::DeserializeOwned;
use serde_json::Value;

const FACTORIZATIONS: &str = include_str!("../../tests/fixtures/factorizations.json");
const N_SAMPLES: usize = 60;
const CHUNK: usize = 20;
const ITERATIONS: usize = 5;
const KERNEL_AND_PAIRED: &str = include_str!("../../tests/fixtures/kernel_and_paired.json");
const MKKM_IK: &str = include_str!("../../tests/fixtures/mkkm_ik.json");

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

fn read<T: DeserializeOwned>(value: &Value) -> T {
    T::deserialize(value).unwrap()
}

fn array(value: &Value) -> Array2<f64> {
    let shape: [usize; 2] = read(&value["shape"]);
    Array2::from_shape_vec(shape, read(&value["values"])).unwrap()
}

fn arrays(value: &Value) -> Vec<Array2<f64>> {
    list(value).iter().map(array).collect()
}

fn multi_view(fixture: &Value) -> MultiView {
    let mask = ViewMask::new(array(&fixture["mask"]).mapv(|x| x == 1.0)).unwrap();
    MultiView::new(arrays(&fixture["views"]), mask).unwrap()
}

/// Asserts that every difference is small relative to the largest entry; NaN is never close.
fn assert_close<'a>(
    what: &str,
    found: impl IntoIterator<Item = &'a f64>,
    expected: impl IntoIterator<Item = &'a f64>,
) {
    let (found, expected): (Vec<f64>, Vec<f64>) =
        (found.into_iter().copied().collect(), expected.into_iter().copied().collect());
    assert_eq!(found.len(), expected.len(), "{what}");
    let largest = expected.iter().fold(0.0_f64, |largest, x| largest.max(x.abs()));
    for (found, expected) in found.iter().zip(&expected) {
        let close = (found - expected).abs() <= 1e-8 * largest;
        assert!(close, "{what}: {found} instead of {expected}, of {largest:e}");
    }
}

/// Asserts that the arrays have the same shapes and nearly the same entries.
fn assert_all_close<'a>(
    what: &str,
    found: impl IntoIterator<Item = &'a Array2<f64>>,
    expected: &[Array2<f64>],
) {
    let found: Vec<&Array2<f64>> = found.into_iter().collect();
    assert_eq!(found.len(), expected.len(), "{what}");
    for (i, (found, expected)) in found.into_iter().zip(expected).enumerate() {
        assert_eq!(found.dim(), expected.dim(), "{what} {i}");
        assert_close(&format!("{what} {i}"), found, expected);
    }
}

#[test]
#[should_panic(expected = "weights: NaN instead of 1")]
fn nan_is_not_close() {
    assert_close("weights", &[2.0, f64::NAN], &[2.0, 1.0]);
}

fn factorizations() -> Value {
    serde_json::from_str(FACTORIZATIONS).unwrap()
}

#[test]
fn daimc_equals_the_reference_after_five_iterations() {
    let fixture = factorizations();
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
    let fixture = factorizations();
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
    let fixture = factorizations();
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
    let fixture = factorizations();
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

fn fixture(part: &str) -> Value {
    serde_json::from_str::<Value>(KERNEL_AND_PAIRED).unwrap()[part].take()
}

fn paired_views(fixture: &Value) -> PairedViews {
    let data = multi_view(fixture);
    let in_order: Vec<usize> = (0..data.n_samples()).collect();
    PairedViews::new(&data, &in_order)
}

/// Returns the kernel of the observed rows of every view.
fn blocks(case: &Value, data: &MultiView) -> Vec<Array2<f64>> {
    let (kernel, scaling): (Kernel, _) = (read(&case["kernel"]), read(&case["scaling"]));
    (0..data.n_views()).map(|v| kernel.between(&data.observed(v), scaling)).collect()
}

fn assert_found(found: &KernelPartition, case: &Value) {
    let projector = found.embedding.dot(&found.embedding.t());
    assert_close("projector", &projector, &array(&case["projector"]));
    assert_close("weights", &found.weights, &read::<Vec<f64>>(&case["weights"]));
    assert_close("objectives", &found.objectives, &read::<Vec<f64>>(&case["objectives"]));
}

#[test]
fn mkkm_ik_mkc_agrees_with_the_numpy_program() {
    let fixture = fixture("kernels");
    let (data, n_clusters) = (multi_view(&fixture), read(&fixture["n-clusters"]));
    for case in list(&fixture["cases"]) {
        let method = MkkmIkMkc {
            coefficients: read(&case["coefficients"]),
            filling: read(&case["filling"]),
            lambda: read(&fixture["lambda"]),
            max_iterations: 5,
            tolerance: 0.0,
            ..MkkmIkMkc::default()
        };
        let found = method.iterate(&blocks(case, &data), data.mask(), n_clusters, &Silent);
        assert_found(&found.unwrap(), case);
    }
}

#[test]
fn mkkm_ik_agrees_with_the_numpy_program() {
    let fixture = fixture("kernels");
    let (data, n_clusters) = (multi_view(&fixture), read(&fixture["n-clusters"]));
    let method = MkkmIk { max_iterations: 5, tolerance: 0.0, ..MkkmIk::default() };
    let cases: [Value; 3] = serde_json::from_str(MKKM_IK).unwrap();
    for case in &cases {
        let found = method.iterate(&blocks(case, &data), data.mask(), n_clusters, &Silent);
        assert_found(&found.unwrap(), case);
    }
}

#[test]
fn pmvc_agrees_with_the_numpy_program() {
    let fixture = fixture("paired");
    let case = &fixture["pmvc"];
    let start: [_; 5] = arrays(&case["start"]).try_into().unwrap();
    let [paired, first_basis, second_basis, first, second] = start;
    let start = PmvcFactors { paired, single: [first, second], bases: [first_basis, second_basis] };
    let method = Pmvc {
        lambda: read(&case["lambda"]),
        paired_iterations: 5,
        iterations: 5,
        tolerance: 0.0,
        ..Pmvc::default()
    };
    let (found, objectives) = method.iterate(&paired_views(&fixture), start, &Silent).unwrap();
    let [first, second] = &found.single;
    let [first_basis, second_basis] = &found.bases;
    let all = [&found.paired, first, second, first_basis, second_basis];
    assert_all_close("array", all, &arrays(&case["result"]));
    assert_close("objective", &objectives[4..], &[read(&case["objective"])]);
}

#[test]
fn img_agrees_with_the_numpy_program_from_both_first_laplacians() {
    let fixture = fixture("paired");
    for case in list(&fixture["img"]) {
        let laplacian = Some(array(&case["laplacian"])).filter(|a| a.iter().any(|&x| x != 0.0));
        let start = array(&case["representation"]);
        let method = Img { max_iterations: 5, ..Img::default() };
        let found = method.iterate(&paired_views(&fixture), start, laplacian, &Silent).unwrap();
        let [first, second] = &found.bases;
        let all = [&found.representation, &found.affinity, first, second];
        assert_all_close("array", all, &arrays(&case["result"]));
    }
}

#[test]
fn img_refuses_a_result_that_is_not_finite() {
    let fixture = fixture("paired");
    let mut representation = array(&fixture["img"][0]["representation"]);
    // The last sample has one view, so no basis is fitted to it.
    representation.row_mut(representation.nrows() - 1).fill(f64::NAN);
    let method = Img { max_iterations: 1, ..Img::default() };
    let found = method.iterate(&paired_views(&fixture), representation, None, &Silent);
    let error = found.unwrap_err();
    assert_eq!(
        error.to_string(),
        "img found nothing usable: iteration 1 left numbers that are not finite"
    );
}

#[test]
fn imc_grmf_agrees_with_the_numpy_program() {
    let fixture = fixture("paired");
    let case = &fixture["imc-grmf"];
    let views = paired_views(&fixture);
    let neighbors = read(&case["neighbors"]);
    let method = ImcGrmf { neighbors, max_iterations: 5, ..ImcGrmf::default() };
    let graphs: Vec<_> = (0..2).map(|v| method.graph(views.rows[v].view()).unwrap()).collect();
    for (graph, dense) in graphs.iter().zip(arrays(&case["graphs"])) {
        for (i, row) in dense.outer_iter().enumerate() {
            let linked: Vec<u32> =
                (0_u32..).zip(row).filter(|(_, w)| **w == 1.0).map(|(j, _)| j).collect();
            assert_eq!(graph.neighbors(i), linked);
        }
    }
    let found = method.iterate(&views, &graphs, &arrays(&case["start"]), &Silent).unwrap();
    let [first, second] = &found.representations[..] else { panic!("two views") };
    assert_all_close("array", [&found.consensus, first, second], &arrays(&case["result"]));
    assert_close("objectives", &found.objectives, &read::<Vec<f64>>(&case["objectives"]));
}
