//! Settings of the method.

use crate::coordinates::Kind;
use crate::model::Prior;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One mixture over all views: every cluster is a multivariate t distribution in every view, a sample has
/// one cluster, and missing views drop out of the likelihood.
///
/// ```
/// use cdimc_core::Clusterer;
/// use cdimc_data::{MissingPattern, Seed, SyntheticViews};
/// use cdimc_mixture::TMixture;
///
/// let dataset = SyntheticViews { n_samples: 200, ..SyntheticViews::default() }.generate(Seed::new(1))?;
/// let mask = MissingPattern::PerView(0.3).mask(200, dataset.n_views(), Seed::new(1).stream("mask"))?;
/// let found = TMixture::default().cluster(&dataset.observe(mask)?, 4, Seed::new(1))?;
/// assert_eq!(found.labels.len(), 200);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # References
/// Peel and `McLachlan`, Stat. Comput. 10 (2000), DOI 10.1023/A:1008981510081; Friedman, JASA 84 (1989);
/// Ueda, Nakano, Ghahramani and Hinton, Neural Comput. 12 (2000); Watanabe, IBM J. (1960).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct TMixture {
    /// Coordinates of the views, one kind for all.
    pub coordinates: Coordinates,
    /// Maximum number of coordinates per view, q. Small data get fewer; a view with q + 1 columns keeps all.
    pub dimensions: usize,
    /// Degrees of freedom ν of the t distributions.
    pub degrees_of_freedom: f64,
    /// Strength κ of the pooled scatter, which counts as κ q rows in every cluster. If absent, it is chosen by held-out
    /// likelihood; a large κ gives all clusters nearly one shape.
    pub pooling: Option<f64>,
    /// Share of the diagonal in the pooled scatter, in [0, 1]; 1 removes correlations. If absent, it is chosen by
    /// held-out likelihood.
    pub diagonal: Option<f64>,
    /// Number of random starts; the likeliest half is refined by merge-and-split and repair.
    pub starts: usize,
    /// Maximum number of samples for the search, drawn at random; the final EM uses all samples.
    pub search_samples: usize,
    /// Promised share of samples whose set of clusters contains the cluster that the model would give with all views.
    pub coverage: f64,
}

/// Defaults of the fields of [`TMixture`] with these names.
const DIMENSIONS: usize = 20;
const DEGREES_OF_FREEDOM: f64 = 5.0;
const STARTS: usize = 16;
const SEARCH_SAMPLES: usize = 20_000;
const COVERAGE: f64 = 0.9;

impl Default for TMixture {
    fn default() -> Self {
        Self {
            coordinates: Coordinates::Auto,
            dimensions: DIMENSIONS,
            degrees_of_freedom: DEGREES_OF_FREEDOM,
            pooling: None,
            diagonal: None,
            starts: STARTS,
            search_samples: SEARCH_SAMPLES,
            coverage: COVERAGE,
        }
    }
}

/// Candidates (κ, δ): a shape per cluster, nearly one shape, and nearly one shape without correlations.
const SHAPES: [(f64, f64); 3] = [(4.0, 0.05), (256.0, 0.05), (256.0, 1.0)];

/// Coordinates of the views.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Coordinates {
    /// The kind with the most shared information.
    #[default]
    Auto,
    /// Rows scaled to unit length, for counts, histograms, pixels and spectra; rows of zeros count as missing.
    Unit,
    /// Standardized columns, for columns in different units.
    Standard,
    /// Centered columns, for columns in one unit.
    Centered,
    /// Normal scores of the columns, for skewed columns and columns with extreme values.
    Ranks,
}

impl Coordinates {
    /// Returns the given kind of all views, or `None` for `auto`.
    pub(crate) fn kind(self) -> Option<Kind> {
        match self {
            Self::Auto => None,
            Self::Unit => Some(Kind::Unit),
            Self::Standard => Some(Kind::Standard),
            Self::Centered => Some(Kind::Centered),
            Self::Ranks => Some(Kind::Ranks),
        }
    }
}

impl TMixture {
    /// Name of the method.
    pub const NAME: &'static str = crate::NAME;

    /// Returns the candidate priors, one if both values are given; the search begins with the first.
    pub(crate) fn priors(&self) -> Vec<Prior> {
        let shape = |(kappa, diagonal)| Prior {
            nu: self.degrees_of_freedom,
            kappa: self.pooling.unwrap_or(kappa),
            diagonal: self.diagonal.unwrap_or(diagonal),
        };
        let mut priors: Vec<Prior> = SHAPES.into_iter().map(shape).collect();
        priors.dedup();
        priors
    }

    /// Returns the number of refined starts.
    pub(crate) fn n_refined(&self) -> usize {
        self.starts.div_ceil(2)
    }
}
