//! Where an experiment's data sets and masks come from.

use crate::workspace;
use anyhow::{Context, Result, ensure};
use cdimc_data::{Dataset, MissingPattern, Seed, SyntheticViews, ViewMask};
use cdimc_tables::datasets::{Catalog, Manifest};
use sha2::{Digest, Sha256};

/// The synthetic data sets, made from a fixed seed, with their numbers of views.
const SYNTHETIC: &[(&str, usize)] = &[("synthetic", 3), ("synthetic-pair", 2)];

pub(crate) fn load(name: &str) -> Result<Dataset> {
    match SYNTHETIC.iter().find(|(known, _)| *known == name) {
        Some(&(_, n_views)) => synthetic(name, n_views),
        None => Ok(catalog()?.load(name)?),
    }
}

pub(crate) fn check_name(name: &str) -> Result<()> {
    let catalog = catalog()?;
    let manifests = catalog.manifests().map(|manifest| manifest.name.as_str());
    let known: Vec<&str> = manifests.chain(SYNTHETIC.iter().map(|&(name, _)| name)).collect();
    let all = known.join(", ");
    ensure!(known.contains(&name), "unknown data set `{name}`: must be one of {all}");
    Ok(())
}

pub(crate) fn is_present(name: &str) -> bool {
    is_synthetic(name) || catalog().is_ok_and(|catalog| catalog.is_present(name).unwrap_or(false))
}

/// The masks that the data set's authors give for this pattern, which must have one rate for all views.
pub(crate) fn authors_masks(name: &str, pattern: &str) -> Result<Vec<ViewMask>> {
    match pattern.parse()? {
        MissingPattern::PerView(rate) if !is_synthetic(name) => {
            Ok(catalog()?.masks(name, rate)?.unwrap_or_default())
        }
        _ => Ok(Vec::new()),
    }
}

/// Mask `fold` of the data set's authors, or one drawn from `seed`.
pub(crate) fn mask(
    dataset: &Dataset,
    pattern: &str,
    fold: Option<usize>,
    seed: Seed,
) -> Result<ViewMask> {
    let name = dataset.name();
    let Some(fold) = fold else {
        let pattern: MissingPattern = pattern.parse()?;
        return Ok(pattern.mask(dataset.n_samples(), dataset.n_views(), seed)?);
    };
    let mask = authors_masks(name, pattern)?.into_iter().nth(fold);
    mask.with_context(|| format!("data set {name}: has no fold {fold} for {pattern}"))
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
    for Manifest { name, .. } in catalog.manifests() {
        ensure!(
            !is_synthetic(name),
            "manifest of `{name}`: must have another name, `{name}` are generated data"
        );
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
