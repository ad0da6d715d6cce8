/*!
Scores of a clustering against known classes.

[`scores`] returns all of them as [`Scores`]; each also has a function of its own. Labels may be any numbers: only the
partition matters. Every score is computed from the contingency table of classes and clusters, in time nearly linear in
the number of samples. The best matching in [`accuracy`](fn@accuracy) and [`match_labels`] takes additional time, cubic
in the number of labels. The crate depends on no other crate of the workspace, and no method depends on it.
```
use cdimc_metrics::scores;

let truth = [0, 0, 1, 1, 2, 2];
let found = [5, 5, 3, 3, 3, 9];
let scores = scores(&truth, &found)?;
assert_eq!(scores.acc, 5.0 / 6.0);
assert_eq!(scores.purity, 5.0 / 6.0);
# Ok::<(), cdimc_metrics::MetricsError>(())
```
*/

pub use crate::{
    accuracy::{accuracy, match_labels},
    contingency::MetricsError,
    information::{NmiNormalizer, nmi},
    pairs::{Pairwise, ari, pairwise},
    scores::{Scores, purity, scores},
};

mod accuracy;
mod assignment;
mod contingency;
mod information;
mod pairs;
mod scores;
