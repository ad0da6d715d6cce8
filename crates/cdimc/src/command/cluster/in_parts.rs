//! A run on samples that memory does not hold: some are searched and shown, all are clustered.

use crate::NamedModel;
use crate::analysis::Outcome;
use crate::command::input::Input;
use crate::command::output::samples_csv;
use crate::command::parts::{Gaps, InputParts, without_header};
use crate::core::{ClusterError, Clustering, Observer};
use crate::data::Seed;
use crate::mixture::TMixture;
use crate::parts::{Census, Parts};
use crate::sample_table::SampleTable;
use crate::tables::Joined;
use crate::{Configured, training_set};
use anyhow::bail;

/// The parts of a run, and how many samples they have.
pub(super) struct InParts {
    parts: InputParts,
    census: Census,
    seed: Seed,
    strict: bool,
}

impl InParts {
    /// The parts of `input`, and the samples that are searched; `None` where the samples are not in parts.
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
        let census = Census::of(&parts, input.strict, observer)?;
        let searched = census.to_search(&parts, &method, seed, observer)?;
        let searched = training_set(searched, input.strict)?;
        Ok(Some((Self { parts, census, seed, strict: input.strict }, searched)))
    }

    pub(super) fn n_samples(&self) -> usize {
        self.census.n_samples.iter().sum()
    }

    /// What was found of the samples searched, after EM over all.
    pub(super) fn fit(
        &self,
        outcome: Outcome,
        searched: &Joined,
        observer: &dyn Observer,
    ) -> Result<Outcome, ClusterError> {
        let Some(model) = &outcome.model else { return Ok(outcome) };
        let model = self.census.fit(&self.parts, model, (searched, self.seed), observer)?;
        let fitted = model.fitted_to(searched)?;
        let curves = outcome.clustering.curves;
        let clustering = Clustering { curves, ..fitted.clustering() };
        let model = NamedModel { model: Box::new(fitted), ..model };
        Ok(Outcome { clustering, model: Some(model), ..outcome })
    }

    /// `labels.csv` of all samples, part by part, with what is odd in them; all of one cluster without a model.
    pub(super) fn labels<'a>(
        &'a self,
        model: Option<&'a NamedModel>,
        gaps: &'a mut Gaps,
    ) -> impl Iterator<Item = anyhow::Result<Vec<u8>>> + 'a {
        (0..self.parts.n_parts()).map(move |part| {
            let tables = self.parts.tables(part).map_err(anyhow::Error::from_boxed)?;
            let (found, joined) = match model {
                Some(model) => {
                    let (joined, which) = model.join(tables, self.strict)?;
                    gaps.add(&joined);
                    (model.predict(&joined, &which)?, joined)
                }
                None => {
                    let means: Vec<Vec<f64>> =
                        tables.iter().map(|table| vec![0.0; table.features.len()]).collect();
                    let means: Vec<&[f64]> = means.iter().map(Vec::as_slice).collect();
                    let joined = crate::tables::join_new(tables, self.strict, &means)?;
                    gaps.unobserved.extend(joined.unobserved.iter().cloned());
                    (Clustering::from_labels(vec![0; joined.ids.len()]), joined)
                }
            };
            let csv = samples_csv(&SampleTable::new(&found, &joined), &joined)?;
            Ok(if part == 0 { csv } else { without_header(&csv).to_vec() })
        })
    }
}
