//! Errors of data, masks and missing patterns.

use std::fmt::Display;
use std::path::{Path, PathBuf};

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
    /// The views have different numbers of samples.
    #[error(
        "view {view} has {found} samples, view 0 has {expected}: all views must have one row for each sample"
    )]
    SampleCount {
        /// View, from 0.
        view: usize,
        /// Rows of view 0.
        expected: usize,
        /// Rows of this view.
        found: usize,
    },
    /// The mask has another shape than the data.
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
    /// Compressed rows or columns do not form a sparse matrix.
    #[error("a sparse matrix: {rule}")]
    Sparse {
        /// Value and rule.
        rule: String,
    },
    /// A file is unreadable or has unexpected content.
    #[error("{}: {reason}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Reason.
        reason: String,
    },
    /// The number of labels differs from the number of samples.
    #[error("labels = {found}, samples = {expected}: one label is needed for each sample")]
    LabelCount {
        /// Samples of the data.
        expected: usize,
        /// Number of labels.
        found: usize,
    },
    /// A view has too few observed samples for a statistic.
    #[error("view {view} has {found} observed samples: at least {needed} are needed")]
    TooFewRows {
        /// View, from 0.
        view: usize,
        /// Observed samples.
        found: usize,
        /// Required samples.
        needed: usize,
    },
    /// A view has another number of features than the fitted view.
    #[error("view {view} has {found} features: {expected} are expected")]
    Width {
        /// View, from 0.
        view: usize,
        /// Features of the fitted view.
        expected: usize,
        /// Features of this view.
        found: usize,
    },
    /// A rate or setting is out of range.
    #[error("{name} = {value}: must lie in {range}")]
    OutOfRange {
        /// Name of the rate or setting.
        name: &'static str,
        /// Its value.
        value: f64,
        /// Valid range.
        range: &'static str,
    },
    /// The number of rates differs from the number of views.
    #[error("rates = {found}, views = {n_views}: one rate is needed for each view")]
    RateCount {
        /// Number of rates.
        found: usize,
        /// Views of the data.
        n_views: usize,
    },
    /// The pattern removes more cells than possible while every sample keeps a view.
    #[error(
        "cannot remove {request}: every sample must keep a view, so at most {max_percent} % can be removed on average"
    )]
    Infeasible {
        /// Requested removal.
        request: String,
        /// Number of samples.
        n_samples: usize,
        /// Number of views.
        n_views: usize,
        /// Number of (sample, view) cells to remove.
        requested_removals: usize,
        /// Largest number of removable cells: `n_samples * (n_views - 1)`.
        max_removals: usize,
        /// Largest removal in percent of all cells.
        max_percent: String,
    },
    /// The pattern needs more views.
    #[error("views = {n_views}: the missing pattern {pattern} needs at least {at_least}")]
    FewViews {
        /// Text of the pattern.
        pattern: String,
        /// Number of views.
        n_views: usize,
        /// Required views.
        at_least: usize,
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
    /// A text is not a missing pattern.
    #[error(
        "missing pattern = {text:?}: must be complete, per-view:RATE, per-view:RATE,RATE,.., paired:RATIO, incomplete:RATE:mem|mcar|mnar|pm, cells:RATE, blocks:RATE, random-views:COUNT, chain, ring or given:ROW,ROW,.."
    )]
    PatternText {
        /// The text.
        text: String,
    },
}

impl DataError {
    /// Returns the error of the file at `path`.
    pub(crate) fn file(path: &Path, reason: &dyn Display) -> Self {
        Self::File { path: path.to_owned(), reason: reason.to_string() }
    }
}
