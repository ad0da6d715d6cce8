/*!
Scores of a clustering against the truth.

[`scores`] gives all of them as [`Scores`], with their names; each is a function of its own as well. Labels may be any
numbers: only which samples share one matters. Every score reads nothing but the contingency table
of classes and clusters, whose time is nearly linear in the samples; the best naming of
[`accuracy`](fn@accuracy) and [`match_labels`] then takes time cubic in the labels. The crate depends
on no other of the workspace, so that no method can look at it.

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
