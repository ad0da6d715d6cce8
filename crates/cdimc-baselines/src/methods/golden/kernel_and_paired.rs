//! Compares MKKM-IK-MKC, MKKM-IK, PMVC, IMG and `IMC_GRMF` with independent NumPy programs, after five iterations from
//! the same start. `fixtures/kernel_and_paired.py` and `fixtures/mkkm_ik.py` name the commands that generate the
//! numbers.

use super::assert_close;
use crate::methods::pmvc::PmvcFactors;
use crate::shared::{kernels::KernelPartition, paired_views::PairedViews};
use crate::{
    Coefficients, ImcGrmf, Img, Kernel, KernelFilling, KernelScaling, MkkmIk, MkkmIkMkc, Pmvc,
};
use cdimc_core::Silent;
use cdimc_data::{MultiView, ViewMask};
use ndarray::Array2;
use serde::Deserialize;

const FIXTURE: &str = include_str!("../../../tests/fixtures/kernel_and_paired.json");
const MKKM_IK: &str = include_str!("../../../tests/fixtures/mkkm_ik.json");

#[derive(Deserialize)]
struct Fixture {
    kernels: KernelFixture,
    paired: PairedFixture,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct KernelFixture {
    views: Vec<Numbers>,
    mask: Numbers,
    n_clusters: usize,
    lambda: f64,
    cases: Vec<KernelCase>,
}

#[derive(Deserialize)]
struct KernelCase {
    #[serde(flatten)]
    partition: PartitionCase,
    coefficients: String,
    filling: String,
}

#[derive(Deserialize)]
struct PartitionCase {
    kernel: String,
    scaling: String,
    weights: Vec<f64>,
    objectives: Vec<f64>,
    projector: Numbers,
}

impl PartitionCase {
    /// Returns the kernel of the observed rows of every view.
    fn blocks(&self, data: &MultiView) -> Vec<Array2<f64>> {
        let kernel = match self.kernel.as_str() {
            "linear" => Kernel::Linear,
            "rbf" => Kernel::Gaussian,
            _ => Kernel::Quadratic,
        };
        let scaling = match self.scaling.as_str() {
            "unit" => KernelScaling::UnitRows,
            "z" => KernelScaling::Standard,
            _ => KernelScaling::None,
        };
        (0..data.n_views()).map(|v| kernel.between(&data.observed(v), scaling)).collect()
    }

    fn assert_found(&self, found: &KernelPartition) {
        let projector = found.embedding.dot(&found.embedding.t());
        assert_close("projector", &projector, &self.projector.values);
        assert_close("weights", &found.weights, &self.weights);
        assert_close("objectives", &found.objectives, &self.objectives);
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct PairedFixture {
    views: Vec<Numbers>,
    mask: Numbers,
    pmvc: PmvcCase,
    img: Vec<ImgCase>,
    imc_grmf: GrmfCase,
}

#[derive(Deserialize)]
struct PmvcCase {
    lambda: f64,
    start: Vec<Numbers>,
    result: Vec<Numbers>,
    objective: f64,
}

#[derive(Deserialize)]
struct ImgCase {
    representation: Numbers,
    laplacian: Numbers,
    result: Vec<Numbers>,
}

#[derive(Deserialize)]
struct GrmfCase {
    neighbors: usize,
    graphs: Vec<Numbers>,
    start: Vec<Numbers>,
    result: Vec<Numbers>,
    objectives: Vec<f64>,
}

#[derive(Deserialize)]
struct Numbers {
    shape: [usize; 2],
    values: Vec<f64>,
}

impl Numbers {
    fn array(&self) -> Array2<f64> {
        Array2::from_shape_vec(self.shape, self.values.clone()).unwrap()
    }
}

fn fixture() -> Fixture {
    serde_json::from_str(FIXTURE).unwrap()
}

fn multi_view(views: &[Numbers], mask: &Numbers) -> MultiView {
    let mask = ViewMask::new(mask.array().mapv(|x| x == 1.0)).unwrap();
    MultiView::new(views.iter().map(Numbers::array).collect(), mask).unwrap()
}

fn paired_views(fixture: &PairedFixture) -> PairedViews {
    let data = multi_view(&fixture.views, &fixture.mask);
    let in_order: Vec<usize> = (0..data.n_samples()).collect();
    PairedViews::new(&data, &in_order)
}

#[test]
fn mkkm_ik_mkc_agrees_with_the_numpy_program() {
    let fixture = fixture().kernels;
    let data = multi_view(&fixture.views, &fixture.mask);
    for case in &fixture.cases {
        let coefficients = match case.coefficients.as_str() {
            "exact" => Coefficients::Exact,
            _ => Coefficients::AuthorsCode,
        };
        let filling = match case.filling.as_str() {
            "zero" => KernelFilling::Zero,
            _ => KernelFilling::Mean,
        };
        let method = MkkmIkMkc {
            coefficients,
            filling,
            lambda: Some(fixture.lambda),
            max_iterations: 5,
            tolerance: 0.0,
            ..MkkmIkMkc::default()
        };
        let blocks = case.partition.blocks(&data);
        let found = method.iterate(&blocks, data.mask(), fixture.n_clusters, &Silent).unwrap();
        case.partition.assert_found(&found);
    }
}

#[test]
fn mkkm_ik_agrees_with_the_numpy_program() {
    let fixture = fixture().kernels;
    let data = multi_view(&fixture.views, &fixture.mask);
    let cases: Vec<PartitionCase> = serde_json::from_str(MKKM_IK).unwrap();
    assert_eq!(cases.len(), 3);
    for case in cases {
        let method = MkkmIk { max_iterations: 5, tolerance: 0.0, ..MkkmIk::default() };
        let blocks = case.blocks(&data);
        let found = method.iterate(&blocks, data.mask(), fixture.n_clusters, &Silent).unwrap();
        case.assert_found(&found);
    }
}

#[test]
fn pmvc_agrees_with_the_numpy_program() {
    let fixture = fixture().paired;
    let case = &fixture.pmvc;
    let start: Vec<_> = case.start.iter().map(Numbers::array).collect();
    let [paired, first_basis, second_basis, first, second] = <[_; 5]>::try_from(start).unwrap();
    let start = PmvcFactors {
        paired,
        single: [first, second],
        bases: [first_basis, second_basis],
        objectives: Vec::new(),
    };
    let method = Pmvc {
        lambda: case.lambda,
        paired_iterations: 5,
        iterations: 5,
        tolerance: 0.0,
        ..Pmvc::default()
    };
    let found = method.iterate(&paired_views(&fixture), start, &Silent).unwrap();
    let [first, second] = &found.single;
    let [first_basis, second_basis] = &found.bases;
    let all = [&found.paired, first, second, first_basis, second_basis];
    for (i, (found, expected)) in all.into_iter().zip(&case.result).enumerate() {
        assert_close(&format!("factor {i}"), found, &expected.values);
    }
    assert_close("objective", &found.objectives[4..], &[case.objective]);
}

#[test]
fn img_agrees_with_the_numpy_program_from_both_first_laplacians() {
    let fixture = fixture().paired;
    for case in &fixture.img {
        let laplacian = Some(case.laplacian.array()).filter(|a| a.iter().any(|&x| x != 0.0));
        let start = case.representation.array();
        let method = Img { max_iterations: 5, ..Img::default() };
        let found = method.iterate(&paired_views(&fixture), start, laplacian, &Silent).unwrap();
        let [first, second] = &found.bases;
        let all = [&found.representation, &found.affinity, first, second];
        for (i, (found, expected)) in all.into_iter().zip(&case.result).enumerate() {
            assert_close(&format!("array {i}"), found, &expected.values);
        }
    }
}

#[test]
fn img_refuses_a_result_that_is_not_finite() {
    let fixture = fixture().paired;
    let mut representation = fixture.img[0].representation.array();
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
    let fixture = fixture().paired;
    let case = &fixture.imc_grmf;
    let views = paired_views(&fixture);
    let method = ImcGrmf { neighbors: case.neighbors, max_iterations: 5, ..ImcGrmf::default() };
    let graphs: Vec<_> = (0..2).map(|v| method.graph(views.rows[v].view()).unwrap()).collect();
    for (graph, dense) in graphs.iter().zip(&case.graphs) {
        let dense = dense.array();
        for (i, row) in dense.outer_iter().enumerate() {
            let linked: Vec<u32> =
                (0_u32..).zip(row).filter(|(_, w)| **w == 1.0).map(|(j, _)| j).collect();
            assert_eq!(graph.neighbors(i), linked);
        }
    }
    let start: Vec<_> = case.start.iter().map(Numbers::array).collect();
    let found = method.iterate(&views, &graphs, &start, &Silent).unwrap();
    assert_close("consensus", &found.consensus, &case.result[0].values);
    for (p, expected) in found.representations.iter().zip(&case.result[1..]) {
        assert_close("representation", p, &expected.values);
    }
    assert_close("objectives", &found.objectives, &case.objectives);
}
