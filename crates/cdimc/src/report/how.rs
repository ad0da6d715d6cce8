//! Methods section of the report: a paragraph to copy, citations, and the command that repeats the run.

use super::Report;
use super::page::Page;
use cdimc_cluster::CdimcNet;
use cdimc_mixture::TMixture;

/// Citations of the methods.
const MIXTURE: &str = "Peel and McLachlan, Stat. Comput. 10, 2000, DOI 10.1023/A:1008981510081 (mixtures of t distributions)";
const NETWORK: &str =
    "Wen et al., CDIMC-net: Cognitive Deep Incomplete Multi-view Clustering Network, IJCAI 2020";

impl Report<'_> {
    pub(super) fn how(&self, page: &mut Page) {
        page.section("How it was done");
        let data = &self.joined.data;
        let (n, n_views, version) = (data.n_samples(), data.n_views(), env!("CARGO_PKG_VERSION"));
        let n_rows: usize = (0..n_views).map(|v| data.mask().n_observed(v)).sum();
        let missing = 100.0 * (1.0 - n_rows as f64 / (n * n_views) as f64);
        let all = self.n_samples;
        let mut text = format!(
            "{all} samples, each in some of {n_views} views ({missing:.0} % of the rows missing), were grouped into {} \
             clusters by {} of cdimc {version}",
            self.n_clusters(),
            self.method
        );
        let mut cited = Vec::new();
        match self.method {
            TMixture::NAME => {
                text += ", one mixture of multivariate t distributions over all views, in which the missing views of a sample \
                     drop out of its likelihood; no view was filled in before";
                if n < all {
                    text += &format!("; the search used {n} samples, EM all samples");
                }
                cited.push(MIXTURE);
            }
            CdimcNet::NAME => {
                text += "; no view was filled in before";
                if let Some(alpha) = self.outcome.facts()["chosen"]["alpha"].as_f64() {
                    text += &format!("; the weight of the neighbor graph is {alpha}");
                }
                cited.push(NETWORK);
            }
            _ => {}
        }
        text += ". Known classes, if any, were not used.";
        if let Some(filled) = self.filled_cells() {
            text += &format!(" {filled}");
        }
        if let Some(number) = &self.outcome.cluster_number {
            let reason = &number.reason;
            text += &format!(" The number of clusters was chosen from the data: {reason}.");
        }
        if let Some(found) = &self.outcome.stability {
            let n = found.n_subsamples;
            text += &format!(
                " Stability is the mean Jaccard index over {n} subsamples of 80 % of the samples."
            );
            cited.push("Hennig, Comput. Stat. Data Anal. 52, 2007, DOI 10.1016/j.csda.2006.11.025 (stability)");
        }
        if self.n_clusters() > 1 {
            text += " Markers are compared by Hedges' g";
            if self.markers.untested.is_none() {
                text += " and tested by Mann and Whitney's test against clusters found without their view, q by Benjamini and \
                     Hochberg within the view";
            }
            text += ".";
        }
        if let Some(comparison) = self.comparison.filter(|comparison| comparison.n_known > 0) {
            text += " Clinical columns, which were not used to find the clusters, are compared by the tests named in their table";
            if comparison.survival.is_some() {
                text += ", survival by the log-rank test and Cox's model";
            }
            text += ".";
        }
        page.paragraph(&text);
        if !cited.is_empty() {
            page.paragraph(&format!("To cite: cdimc {version}; {}.", cited.join("; ")));
        }
        page.code(self.command);
        page.folded("All settings", self.settings);
        let seconds = self.seconds.iter().map(|(stage, s)| format!("{stage} {s:.1} s"));
        page.paragraph(&format!("Time: {}.", seconds.collect::<Vec<_>>().join(", ")));
    }
}
