//! What methods choose by that have no labels to choose by.

/// What the views of some data share under clusters of its samples.
///
/// A method that trains on several views asks it which of its solutions to go on from; who answers has made what it
/// needs of the data before, so that each answer is quick.
pub trait SharedInformation: Send + Sync {
    /// The information in nats that the views share under these clusters, T: the more, the more they agree.
    ///
    /// # Panics
    /// If there is not one label below the number of clusters for every sample, in the order of the data.
    fn of(&self, labels: &[usize]) -> f64;

    /// Whether T is more under `labels` than under `others` beyond what the choice of these samples makes by chance.
    ///
    /// # Panics
    /// As [`of`](Self::of).
    fn is_more(&self, labels: &[usize], others: &[usize]) -> bool;
}
