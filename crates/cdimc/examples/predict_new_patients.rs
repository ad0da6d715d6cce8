//! Trains on some samples, saves the model, and assigns new ones that lack an assay.
#![allow(clippy::print_stdout)]

use cdimc::data::SyntheticViews;
use cdimc::prelude::*;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let dataset = SyntheticViews::default().generate(Seed::new(1))?;
    let n = dataset.n_samples();
    let mask = MissingPattern::PerView(0.2).mask(n, dataset.n_views(), Seed::new(2))?;
    let data = dataset.observe(mask)?;
    let train: Vec<usize> = (0..n).filter(|i| i % 5 != 0).collect();
    let new: Vec<usize> = (0..n).filter(|i| i % 5 == 0).collect();

    let mut net = CdimcNet::default().with_analysis(TMixture::default());
    net.pretrain.epochs = 60;
    net.finetune.rounds = 10;
    let (data_then, k) = (data.select_rows(&train)?, dataset.n_classes());
    let (model, _) = net.train(&data_then, k, Seed::new(0), &Silent)?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("model.safetensors");
    model.save(&file)?;

    // The new samples miss other views than the training did; any subset will do.
    let prediction =
        CdimcModel::load(&file, &TMixture::default())?.predict(&data.select_rows(&new)?)?;
    let confidence = prediction.confidence.unwrap_or_default();
    for (i, (label, sure)) in new.iter().zip(prediction.labels.iter().zip(confidence)).take(8) {
        let views = data.mask().n_views_of(*i);
        println!("sample {i} with {views} views: cluster {label}, confidence {sure:.3}");
    }
    Ok(())
}
