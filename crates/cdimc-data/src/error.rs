//! What can be wrong with data, a mask or a request for one.

use std::fmt::Display;
use std::path::{Path, PathBuf};

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
    /// Compressed rows or columns that are no sparse matrix.
    #[error("a sparse matrix: {rule}")]
    Sparse {
        /// The rule and the value.
        rule: String,
    },
    /// A file that cannot be read, or does not hold what it should.
    #[error("{}: {reason}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
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
    /// A rate or setting outside its range.
    #[error("{name} = {value}: must lie in {range}")]
    OutOfRange {
        /// What it is.
        name: &'static str,
        /// The value given.
        value: f64,
        /// The valid range.
        range: &'static str,
    },
    /// A list of rates of another length than the views.
    #[error("rates = {found}, views = {n_views}: one rate is needed for each view")]
    RateCount {
        /// Rates given.
        found: usize,
        /// Views of the data.
        n_views: usize,
    },
    /// More removals than every sample can bear.
    #[error(
        "cannot remove {request}: every sample must keep a view, so at most {max_percent} % can be removed on average"
    )]
    Infeasible {
        /// What was asked for.
        request: String,
        /// Samples asked for.
        n_samples: usize,
        /// Views asked for.
        n_views: usize,
        /// (sample, view) cells to remove.
        requested_removals: usize,
        /// The most that can be removed: `n_samples * (n_views - 1)`.
        max_removals: usize,
        /// The same in percent of all cells.
        max_percent: String,
    },
    /// A pattern that needs more views.
    #[error("views = {n_views}: the missing pattern {pattern} needs at least {at_least}")]
    FewViews {
        /// The pattern.
        pattern: String,
        /// Views there are.
        n_views: usize,
        /// Views it needs.
        at_least: usize,
    },
    /// A pattern whose draw leaves a view without samples.
    #[error(
        "missing pattern {pattern} hides view {view} from all {n_samples} samples: every view needs at least one"
    )]
    EmptiedView {
        /// The pattern.
        pattern: String,
        /// 0-based view.
        view: usize,
        /// Samples asked for.
        n_samples: usize,
    },
    /// A text that names no missing pattern.
    #[error(
        "missing pattern = {text:?}: must be complete, per-view:RATE, per-view:RATE,RATE,.., paired:RATIO, incomplete:RATE:mem|mcar|mnar|pm, cells:RATE, blocks:RATE, random-views:COUNT, chain, ring or given:ROW,ROW,.."
    )]
    PatternText {
        /// The text given.
        text: String,
    },
}

impl DataError {
    /// The file at `path` cannot be used for this reason.
    pub(crate) fn file(path: &Path, reason: &dyn Display) -> Self {
        Self::File { path: path.to_owned(), reason: reason.to_string() }
    }
}
