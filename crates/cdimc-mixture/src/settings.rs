//! The method's settings.

use crate::coordinates::Kind;
use crate::criterion::least_equal;
use crate::model::Prior;
use crate::search::{Effort, Found};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Borrow;

/// One mixture over all views: every cluster is a multivariate t distribution in every view, a sample has
/// one cluster, and a view that it lacks drops out of its likelihood.
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
    /// How the rows of the views become coordinates: `auto`, chosen by shared information.
    pub coordinates: Coordinates,
    /// q: coordinates of a view at most, or one more where it has just one column more; fewer in small data: 20.
    pub dimensions: usize,
    /// ν of the t distributions, at most 1e6: 5.
    pub degrees_of_freedom: f64,
    /// κ: the pooled scatter counts as κ q rows in every cluster. If absent, 4 or 256, nearly one shape for all clusters:
    /// that under which samples held out are likeliest.
    pub pooling: Option<f64>,
    /// The share of the pooled scatter that is its diagonal alone, in [0, 1]. If absent, 0.05, or 1 where one shape for
    /// all clusters and no correlations make samples held out likeliest.
    pub diagonal: Option<f64>,
    /// Starts: 16.
    pub starts: usize,
    /// Starts of highest likelihood that merge-and-split and repair go on from: 8.
    pub refined: usize,
    /// Combinations of a merge and a split tried in a round: 4.
    pub tries: usize,
    /// Which of the refined starts wins: that of highest likelihood among those of most shared information.
    pub rule: Rule,
    /// The search sees so many samples at most, drawn at random: 20,000; EM then goes on with all.
    pub search_samples: usize,
}

/// The defaults of [`TMixture`]'s fields of these names.
const DIMENSIONS: usize = 20;
const DEGREES_OF_FREEDOM: f64 = 5.0;
const STARTS: usize = 16;
const REFINED: usize = 8;
const TRIES: usize = 4;
const SEARCH_SAMPLES: usize = 20_000;

impl Default for TMixture {
    fn default() -> Self {
        Self {
            coordinates: Coordinates::Auto,
            dimensions: DIMENSIONS,
            degrees_of_freedom: DEGREES_OF_FREEDOM,
            pooling: None,
            diagonal: None,
            starts: STARTS,
            refined: REFINED,
            tries: TRIES,
            rule: Rule::default(),
            search_samples: SEARCH_SAMPLES,
        }
    }
}

/// The κ and shares of the diagonal to choose from: every cluster of its own shape, all of nearly one, and that without
/// correlations.
const SHAPES: [(f64, f64); 3] = [(4.0, 0.05), (256.0, 0.05), (256.0, 1.0)];

/// How the rows of the views become coordinates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Coordinates {
    /// Chosen without labels by shared information, one kind for all views.
    #[default]
    Auto,
    /// [`Kind::Unit`] for all views.
    Unit,
    /// [`Kind::Standard`] for all views.
    Standard,
    /// [`Kind::Centered`] for all views.
    Centered,
    /// [`Kind::Ranks`] for all views.
    Ranks,
}

impl Coordinates {
    /// The kind of all views, where it is given.
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

/// Which of the refined starts wins; `docs/notes/mixture.md` has what each rule gives on data with known classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Rule {
    /// That of highest log-likelihood.
    Likelihood,
    /// That of most shared information T.
    SharedInformation,
    /// That of highest log-likelihood among those whose T is within 4 % of the most: T tells clusters that
    /// the views agree on from shapes of one view, likelihood tells near equals apart.
    #[default]
    LikelihoodAmongMostShared,
}

impl Rule {
    /// The best of `found` by this rule; the first of equals.
    pub(crate) fn best<F: Borrow<Found>>(self, found: Vec<F>) -> Option<F> {
        let information = |found: &F| found.borrow().shared.information;
        let most = found.iter().map(information).fold(f64::NEG_INFINITY, f64::max);
        let least = match self {
            Self::Likelihood => f64::NEG_INFINITY,
            Self::SharedInformation => most,
            Self::LikelihoodAmongMostShared => least_equal(most),
        };
        let likelihood = |found: &F| found.borrow().fit.log_likelihood;
        let allowed = found.into_iter().filter(|found| information(found) >= least);
        allowed
            .reduce(|best, other| if likelihood(&other) > likelihood(&best) { other } else { best })
    }
}

impl TMixture {
    /// The method's name.
    pub const NAME: &'static str = crate::NAME;

    /// What is known of clusters before any sample is seen, as far as it is given: one at least, the first of them what
    /// the search begins with.
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

    pub(crate) fn effort(&self) -> Effort {
        Effort { starts: self.starts, refined: self.refined, tries: self.tries }
    }
}
