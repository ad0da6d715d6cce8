//! A run on samples in parts: a subsample is searched and shown, all samples are clustered.

use crate::NamedModel;
use crate::analysis::Outcome;
use crate::command::input::Input;
use crate::command::output::samples_csv;
use crate::command::parts::{InputParts, MissingViews};
use crate::core::{ClusterError, Clustering, Observer};
use crate::data::Seed;
use crate::mixture::TMixture;
use crate::parts::PartIndex;
use crate::sample_table::SampleTable;
use crate::tables::Joined;
use crate::{Configured, training_set};
use anyhow::bail;

/// The parts of a run and their numbers of samples.
pub(super) struct InParts {
    parts: InputParts,
    index: PartIndex,
    seed: Seed,
    strict: bool,
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
        Ok(Some((Self { parts, index, seed, strict: input.strict }, searched)))
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

    /// Returns `labels.csv` of all samples, part by part; without a model all samples are in one cluster.
    pub(super) fn labels<'a>(
        &'a self,
        model: Option<&'a NamedModel>,
        missing: &'a mut MissingViews,
    ) -> impl Iterator<Item = anyhow::Result<Vec<u8>>> + 'a {
        self.parts.csv(move |_, tables| {
            let (found, joined) = match model {
                Some(model) => {
                    let (joined, which) = model.join(tables, self.strict)?;
                    missing.add(&joined);
                    (model.predict(&joined, &which)?, joined)
                }
                None => {
                    let means: Vec<Vec<f64>> =
                        tables.iter().map(|table| vec![0.0; table.features.len()]).collect();
                    let means: Vec<&[f64]> = means.iter().map(Vec::as_slice).collect();
                    let joined = crate::tables::join_new(tables, self.strict, &means)?;
                    missing.unobserved.extend(joined.unobserved.iter().cloned());
                    (Clustering::from_labels(vec![0; joined.ids.len()]), joined)
                }
            };
            samples_csv(&SampleTable::new(&found, &joined), &joined)
        })
    }
}
