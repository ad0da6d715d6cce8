//! Where an experiment's data sets and masks come from.

use crate::workspace;
use anyhow::{Result, bail, ensure};
use cdimc_data::{Dataset, MissingPattern, Seed, SyntheticViews, ViewMask};
use cdimc_tables::datasets::Catalog;
use sha2::{Digest, Sha256};

/// The synthetic data sets, made from a fixed seed, with their numbers of views.
const SYNTHETIC: &[(&str, usize)] = &[("synthetic", 3), ("synthetic-pair", 2)];

/// What a plan has to know of a data set.
pub(crate) struct Facts {
    pub name: String,
    pub n_samples: usize,
    pub n_views: usize,
    pub n_classes: usize,
    /// SHA-256 of its values and labels, independent of the file format.
    pub checksum: String,
}

impl Facts {
    /// A mask of this pattern for the data set.
    pub(crate) fn draw(&self, pattern: &str, seed: Seed) -> Result<ViewMask> {
        Ok(pattern.parse::<MissingPattern>()?.mask(self.n_samples, self.n_views, seed)?)
    }
}

/// The facts of the data set of this name.
pub(crate) fn facts(name: &str) -> Result<Facts> {
    let dataset = load(name)?;
    Ok(Facts {
        name: name.to_owned(),
        n_samples: dataset.n_samples(),
        n_views: dataset.n_views(),
        n_classes: dataset.n_classes(),
        checksum: checksum(&dataset),
    })
}

/// The data set of this name.
pub(crate) fn load(name: &str) -> Result<Dataset> {
    match SYNTHETIC.iter().find(|(known, _)| *known == name) {
        Some(&(_, n_views)) => synthetic(name, n_views),
        None => Ok(catalog()?.load(name)?),
    }
}

/// Whether such a data set is known.
pub(crate) fn check_name(name: &str) -> Result<()> {
    let catalog = catalog()?;
    let known: Vec<&str> = catalog
        .manifests()
        .map(|manifest| manifest.name.as_str())
        .chain(SYNTHETIC.iter().map(|&(name, _)| name))
        .collect();
    ensure!(
        known.contains(&name),
        "unknown data set `{name}`: must be one of {}",
        known.join(", ")
    );
    Ok(())
}

/// Whether the data set's files are at hand.
pub(crate) fn is_present(name: &str) -> bool {
    is_synthetic(name) || catalog().is_ok_and(|catalog| catalog.is_present(name).unwrap_or(false))
}

/// How many masks the data set's authors give for this pattern.
pub(crate) fn n_folds(name: &str, pattern: &str) -> Result<usize> {
    Ok(authors_masks(name, pattern)?.map_or(0, |masks| masks.len()))
}

/// Mask `fold` of the data set's authors, or one drawn from `seed`.
pub(crate) fn mask(
    dataset: &Dataset,
    pattern: &str,
    fold: Option<usize>,
    seed: Seed,
) -> Result<ViewMask> {
    let Some(fold) = fold else {
        let pattern: MissingPattern = pattern.parse()?;
        return Ok(pattern.mask(dataset.n_samples(), dataset.n_views(), seed)?);
    };
    match authors_masks(dataset.name(), pattern)?.unwrap_or_default().into_iter().nth(fold) {
        Some(mask) => Ok(mask),
        None => bail!("data set {}: has no fold {fold} for {pattern}", dataset.name()),
    }
}

/// Returns the published masks, which exist for patterns with one rate for all views.
fn authors_masks(name: &str, pattern: &str) -> Result<Option<Vec<ViewMask>>> {
    match pattern.parse()? {
        MissingPattern::PerView(rate) if !is_synthetic(name) => Ok(catalog()?.masks(name, rate)?),
        _ => Ok(None),
    }
}

fn is_synthetic(name: &str) -> bool {
    SYNTHETIC.iter().any(|(known, _)| *known == name)
}

/// The catalog over `$CDIMC_DATASETS`, where set, and the `datasets` folder of the repository.
pub(crate) fn catalog() -> Result<Catalog> {
    checked(Catalog::from_env(Some(workspace::root().join("datasets")))?)
}

/// Returns the catalog if it contains no name of generated data.
fn checked(catalog: Catalog) -> Result<Catalog> {
    if let Some(manifest) = catalog.manifests().find(|manifest| is_synthetic(&manifest.name)) {
        bail!("manifest of `{0}`: must have another name, `{0}` are generated data", manifest.name);
    }
    Ok(catalog)
}

/// SHA-256 of its values and labels.
pub(crate) fn checksum(dataset: &Dataset) -> String {
    let mut hash = Sha256::new();
    for view in dataset.views() {
        hash.update((view.nrows() as u64).to_le_bytes());
        hash.update((view.ncols() as u64).to_le_bytes());
        for row in view.rows() {
            let bytes: Vec<u8> = row.iter().flat_map(|x| x.to_le_bytes()).collect();
            hash.update(&bytes);
        }
    }
    for label in dataset.labels().unwrap_or_default() {
        hash.update((*label as u64).to_le_bytes());
    }
    format!("{:x}", hash.finalize())
}

/// The default views, or the first `n_views` of them.
fn synthetic(name: &str, n_views: usize) -> Result<Dataset> {
    let mut recipe = SyntheticViews::default();
    recipe.views.truncate(n_views);
    let dataset = recipe.generate(Seed::new(0).stream(name))?;
    let labels = dataset.labels().map(<[usize]>::to_vec);
    Ok(Dataset::new(name, dataset.views().to_vec(), labels)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_may_not_have_the_name_of_generated_data() {
        let folder = tempfile::tempdir().unwrap();
        let digits = workspace::root().join("crates/cdimc-tables/datasets/digits.toml");
        let digits = std::fs::read_to_string(digits).unwrap();
        let named = |name: &str| {
            let text = digits.replace("name = \"digits\"", &format!("name = \"{name}\""));
            std::fs::write(folder.path().join("own.toml"), text).unwrap();
            checked(Catalog::new([folder.path().to_owned()]).unwrap())
        };
        assert!(named("own").unwrap().manifest("own").is_ok());
        let error = named("synthetic").unwrap_err().to_string();
        assert!(error.starts_with("manifest of `synthetic`: must have another name"), "{error}");
    }
}
