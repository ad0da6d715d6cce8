//! What can be wrong with data, a mask or a request for one.

/// The ways data can be unusable; every message states the rule and the value.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// No view was given.
    #[error("views = 0: at least one view is needed")]
    NoViews,
    /// The views hold no sample.
    #[error("samples = 0: at least one sample is needed")]
    NoSamples,
    /// A view without features.
    #[error("view {view} has 0 features: at least one is needed")]
    NoFeatures {
        /// 0-based view.
        view: usize,
    },
    /// The views do not describe the same samples.
    #[error(
        "view {view} has {found} samples, view 0 has {expected}: all views must have one row for each sample"
    )]
    SampleCount {
        /// 0-based view.
        view: usize,
        /// Rows of view 0.
        expected: usize,
        /// Rows of this view.
        found: usize,
    },
    /// A mask of another shape than the data.
    #[error(
        "mask is {found_samples} x {found_views}, data is {n_samples} x {n_views} (samples x views): they must agree"
    )]
    MaskShape {
        /// Samples of the data.
        n_samples: usize,
        /// Views of the data.
        n_views: usize,
        /// Rows of the mask.
        found_samples: usize,
        /// Columns of the mask.
        found_views: usize,
    },
    /// A sample that no view observes.
    #[error("sample {sample} is observed in no view: every sample needs at least one")]
    SampleWithoutView {
        /// 0-based sample.
        sample: usize,
    },
    /// A view that observes no sample.
    #[error("view {view} is observed for no sample: drop it or give it data")]
    ViewWithoutSample {
        /// 0-based view.
        view: usize,
    },
    /// An infinite value, or a NaN inside an observed row.
    #[error(
        "view {view}, sample {sample}, feature {feature} = {value}: observed values must be finite"
    )]
    NotFinite {
        /// 0-based view.
        view: usize,
        /// 0-based sample.
        sample: usize,
        /// 0-based feature.
        feature: usize,
        /// The offending value.
        value: f64,
    },
    /// Labels and views disagree in number.
    #[error("labels = {found}, samples = {expected}: one label is needed for each sample")]
    LabelCount {
        /// Samples of the data.
        expected: usize,
        /// Labels given.
        found: usize,
    },
    /// Too few observed samples for a statistic of the view.
    #[error("view {view} has {found} observed samples: at least {needed} are needed")]
    TooFewRows {
        /// 0-based view.
        view: usize,
        /// Observed samples.
        found: usize,
        /// Samples needed.
        needed: usize,
    },
    /// A view with another number of features than the fitted one.
    #[error("view {view} has {found} features: {expected} are expected")]
    Width {
        /// 0-based view.
        view: usize,
        /// Features of the fitted view.
        expected: usize,
        /// Features given.
        found: usize,
    },
}
