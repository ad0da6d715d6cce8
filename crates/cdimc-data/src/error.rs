//! Errors of data, masks and missing patterns.

/// Error of data; every message gives the value and the rule.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// There is no view.
    #[error("views = 0: at least one view is needed")]
    NoViews,
    /// There is no sample.
    #[error("samples = 0: at least one sample is needed")]
    NoSamples,
    /// A view has no features.
    #[error("view {view} has 0 features: at least one is needed")]
    NoFeatures {
        /// View, from 0.
        view: usize,
    },
    /// A sample has no view.
    #[error("sample {sample} is observed in no view: every sample needs at least one")]
    SampleWithoutView {
        /// Sample, from 0.
        sample: usize,
    },
    /// A view has no sample.
    #[error("view {view} is observed for no sample: drop it or give it data")]
    ViewWithoutSample {
        /// View, from 0.
        view: usize,
    },
    /// An observed row holds a value that is NaN, infinite or larger than 1e302.
    #[error(
        "view {view}, sample {sample}, feature {feature} = {value:e}: observed values must be finite, and at most 1e302 in size"
    )]
    NotFinite {
        /// View, from 0.
        view: usize,
        /// Sample, from 0.
        sample: usize,
        /// Feature, from 0.
        feature: usize,
        /// Value of the feature.
        value: f64,
    },
    /// The pattern removes more cells than possible while every sample keeps a view.
    #[error(
        "cannot remove {request}: every sample must keep a view, so at most {max_percent} % can be removed on average"
    )]
    Infeasible {
        /// Requested removal.
        request: String,
        /// Number of (sample, view) cells to remove.
        requested_removals: usize,
        /// Largest number of removable cells: `n_samples * (n_views - 1)`.
        max_removals: usize,
        /// Largest removal in percent of all cells.
        max_percent: String,
    },
    /// The draw of a pattern leaves a view without samples.
    #[error(
        "missing pattern {pattern} hides view {view} from all {n_samples} samples: every view needs at least one"
    )]
    EmptiedView {
        /// Text of the pattern.
        pattern: String,
        /// View, from 0.
        view: usize,
        /// Number of samples.
        n_samples: usize,
    },
    /// Another rule is broken or a file cannot be written; the text gives the value and the reason.
    #[error("{0}")]
    Other(String),
}

impl DataError {
    /// Checks that a rate or setting is `valid`, that is, in `range`.
    pub(crate) fn check_range(
        name: &str,
        value: f64,
        valid: bool,
        range: &str,
    ) -> Result<(), Self> {
        if valid {
            Ok(())
        } else {
            Err(Self::Other(format!("{name} = {value}: must lie in {range}")))
        }
    }
}
