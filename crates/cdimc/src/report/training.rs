//! Training section of the report: the curves of the result, and the runs that competed.

use super::Report;
use super::figures;
use super::page::Page;
use crate::numbers::short;
use cdimc_core::Curve;
use cdimc_mixture::TMixture;

/// Title of the quantity by which CDIMC-net chooses.
const SHARED: &str = "√(TM) in nats";

impl Report<'_> {
    pub(super) fn training(&self, page: &mut Page) {
        // The curves of the mixture run over its starts and do not describe the samples.
        if self.method != TMixture::NAME {
            section(page, &self.outcome.clustering.curves);
        }
    }
}

fn section(page: &mut Page, curves: &[Curve]) {
    let curves = curves.iter().filter(|curve| !curve.values.is_empty());
    let (of_runs, of_result): (Vec<_>, Vec<_>) =
        curves.partition(|curve| curve.name.contains("run"));
    if of_result.is_empty() {
        return;
    }
    page.section("Training");
    for Curve { name, values } in of_result {
        let (title, first, step) = match name.as_str() {
            // The first value is of the clusters before fine-tuning.
            "shared-information" => (SHARED.to_owned(), 0, "round"),
            _ if name.starts_with("pretrain") => (name.replace('-', " "), 1, "epoch"),
            _ => (name.replace('-', " "), 1, "round"),
        };
        let svg = figures::line(first, &title, step, values);
        page.figure(&format!("training-{name}"), svg, "");
    }
    let [alphas, shared, chosen] = of_runs[..] else { return };
    page.paragraph(
        "√(TM) is the geometric mean of what the views and what neighbors share about the clusters. The result is the \
         run with the largest √(TM); of runs within chance, the one with the smaller weight of the graph.",
    );
    let rows =
        alphas.values.iter().zip(&shared.values).enumerate().map(|(run, (&alpha, &nats))| {
            // A run that diverged has no clusters.
            let nats = if nats == 0.0 { "diverged".to_owned() } else { short(nats) };
            let mark = if chosen.values[0] == run as f64 { "result" } else { "" };
            vec![(run + 1).to_string(), short(alpha), nats, mark.to_owned()]
        });
    page.table(&["run", "weight of the graph", SHARED, ""], rows);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_a_table_and_rounds_begin_before_fine_tuning() {
        let curve = |name: &str, values: &[f64]| Curve { name: name.into(), values: values.into() };
        let mut page = Page::new("x");
        section(
            &mut page,
            &[
                curve("pretrain-loss", &[0.9, 0.5]),
                curve("shared-information", &[1.0, 1.5, 1.25]),
                curve("run-alpha", &[0.01, 0.1, 0.1]),
                curve("run-shared-information", &[1.25, 0.0, 1.5]),
                curve("chosen-run", &[2.0]),
            ],
        );
        let page = page.finish();
        let names: Vec<&str> = page.figures.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["training-pretrain-loss", "training-shared-information"]);
        let text = page.html.replace(['\n', ' '], "");
        for row in [
            "<td>1</td><td>0.01</td><td>1.25",
            "<td>0.1</td><td>diverged",
            "<td>1.5</td><td>result",
        ] {
            assert!(text.contains(row), "{row} in {text}");
        }
        // Rounds 0 to 2.
        assert!(page.figures[1].1.contains(">\n0\n<"), "{}", page.figures[1].1);
    }
}
