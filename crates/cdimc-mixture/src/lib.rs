/*!
One mixture over all views of incomplete multi-view data: every cluster is a multivariate t distribution
in every view, a sample has one cluster in all of them, and a view that a sample lacks drops out of its
likelihood. No imputation, no graph, no network.
*/

pub use crate::coordinates::Kind;

/// The method's name.
const NAME: &str = "t-mixture";

mod coordinates;
mod criterion;
mod model;
mod observations;
mod responsibilities;
mod search;
mod watch;

#[cfg(test)]
mod golden;
