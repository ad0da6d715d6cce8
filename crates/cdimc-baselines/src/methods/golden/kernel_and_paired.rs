//! Compares MKKM-IK-MKC, MKKM-IK, PMVC, IMG and `IMC_GRMF` with independent NumPy programs, after five iterations from
//! the same start. `fixtures/kernel_and_paired.py` and `fixtures/mkkm_ik.py` name the commands that generate the
//! numbers.

use super::{array, arrays, assert_all_close, assert_close, list, multi_view, read};
use crate::methods::pmvc::PmvcFactors;
use crate::shared::{kernels::KernelPartition, paired_views::PairedViews};
use crate::{ImcGrmf, Img, Kernel, MkkmIk, MkkmIkMkc, Pmvc};
use cdimc_core::Silent;
use cdimc_data::MultiView;
use ndarray::Array2;
use serde_json::Value;

const FIXTURE: &str = include_str!("../../../tests/fixtures/kernel_and_paired.json");
const MKKM_IK: &str = include_str!("../../../tests/fixtures/mkkm_ik.json");

fn fixture(part: &str) -> Value {
    serde_json::from_str::<Value>(FIXTURE).unwrap()[part].take()
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
