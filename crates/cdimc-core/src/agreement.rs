//! What methods choose by that have no labels to choose by.

/// How far the views of the samples of some data agree on clusters of them.
///
/// A method that trains on several views asks it which of its solutions to go on from; who answers has made what it
/// needs of the data before, so that each answer is quick.
pub trait Agreement: Send + Sync {
    /// The information in nats that the views share under these clusters, T: the more, the more they agree.
    ///
    /// # Panics
    /// If there is not one label below the number of clusters for every sample, in the order of the data.
    fn shared_information(&self, labels: &[usize]) -> f64;
}
