/*!
Tests of groups of samples against clinical and other variables.

Survival: [`KaplanMeier`], [`log_rank`], [`hazard_ratios`] by Cox's model. Numbers: [`kruskal_wallis`],
[`mann_whitney`], [`contrasts`] of each group with all others. Categories: [`Contingency`]. [`benjamini_hochberg`] turns
the p values of all tests of an analysis into q values. Groups are numbered `0..`; groups without samples are skipped. A
test that is not defined is `None`. All numbers agree with R to 1e-8.

```
use cdimc_statistics::{KaplanMeier, Times, log_rank};

let times = Times::new(&[5.0, 8.0, 12.0, 3.0, 4.0, 4.0], &[false, true, false, true, true, true]);
let found = log_rank(times, &[0, 0, 0, 1, 1, 1]).expect("two groups with events");
assert!(found.p < 0.05);
let curve = KaplanMeier::new(times);
assert_eq!(curve.steps[0].survival, 5.0 / 6.0);
```
*/

pub use contingency::{ChiSquared, Contingency};
pub use contrast::{Contrast, contrasts};
pub use cox::{HazardRatio, hazard_ratios};
pub use false_discovery::benjamini_hochberg;
pub use log_rank::{LogRank, log_rank};
pub use ranks::{KruskalWallis, MannWhitney, kruskal_wallis, mann_whitney};
pub use survival::{KaplanMeier, RestrictedMean, Step, Times};

mod contingency;
mod contrast;
mod cox;
mod distributions;
mod false_discovery;
mod linear;
mod log_rank;
mod ranks;
mod survival;
