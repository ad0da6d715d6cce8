//! A run on samples in parts: a subsample is searched and shown, all samples are clustered.

use crate::NamedModel;
use crate::analysis::Outcome;
use crate::command::input::Input;
use crate::command::parts::InputParts;
use crate::core::{ClusterError, Clustering, Observer};
use crate::data::Seed;
use crate::mixture::TMixture;
use crate::parts::PartIndex;
use crate::tables::Joined;
use crate::{Configured, training_set};
use anyhow::bail;

/// The parts of a run and their numbers of samples.
pub(super) struct InParts {
    pub(super) parts: InputParts,
    index: PartIndex,
    seed: Seed,
}

impl InParts {
    /// Returns the parts of `input` and the subsample for the search; `None` if the samples are not in parts.
    pub(super) fn read(
        input: &Input,
        configured: &Configured,
        seed: Seed,
        observer: &dyn Observer,
    ) -> anyhow::Result<Option<(Self, Joined)>> {
        let Some(parts) = InputParts::of(input)? else { return Ok(None) };
        let name = configured.clusterer.name();
        if name != TMixture::NAME {
            bail!("{name}: reads all samples at once; only {} reads them in parts", TMixture::NAME);
        }
        let method: TMixture = serde_json::from_value(configured.settings.clone())?;
        let index = PartIndex::of(&parts, input.strict, observer)?;
        let searched = index.to_search(&parts, &method, seed, observer)?;
        let searched = training_set(searched, input.strict)?;
        Ok(Some((Self { parts, index, seed }, searched)))
    }

    pub(super) fn n_samples(&self) -> usize {
        self.index.n_samples.iter().sum()
    }

    /// Returns the result for the subsample, after EM over all samples.
    pub(super) fn fit(
        &self,
        outcome: Outcome,
        searched: &Joined,
        observer: &dyn Observer,
    ) -> Result<Outcome, ClusterError> {
        let Some(model) = &outcome.model else { return Ok(outcome) };
        let model = self.index.fit(&self.parts, model, (searched, self.seed), observer)?;
        let fitted = model.fitted_to(searched)?;
        let curves = outcome.clustering.curves;
        let clustering = Clustering { curves, ..fitted.clustering() };
        let model = NamedModel { model: Box::new(fitted), ..model };
        Ok(Outcome { clustering, model: Some(model), ..outcome })
    }
}
