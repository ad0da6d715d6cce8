//! Fills in missing views with a trained model's decoders and compares with what was hidden.
#![allow(clippy::print_stdout)]

use cdimc::data::SyntheticViews;
use cdimc::prelude::*;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let dataset = SyntheticViews::default().generate(Seed::new(1))?;
    let mask =
        MissingPattern::PerView(0.2).mask(dataset.n_samples(), dataset.n_views(), Seed::new(2))?;
    let data = dataset.observe(mask.clone())?;

    let mut net = CdimcNet::default().with_analysis(TMixture::default());
    net.pretrain.epochs = 200;
    net.finetune.rounds = 20;
    let fitted = net.fit(&data, dataset.n_classes(), Seed::new(0), &Silent)?;
    let model = fitted.model.ok_or("no model")?;
    for (view, filled) in model.impute(&data)?.iter().enumerate() {
        let truth = &dataset.views()[view];
        let mean = data.observed(view).mean_axis(ndarray::Axis(0)).ok_or("no rows")?;
        let (mut left, mut total) = (0.0, 0.0);
        for i in (0..data.n_samples()).filter(|&i| !mask.is_observed(i, view)) {
            left += (&filled.row(i) - &truth.row(i)).mapv(|x| x * x).sum();
            total += (&mean - &truth.row(i)).mapv(|x| x * x).sum();
        }
        println!(
            "view {view}: {:.0} % of the hidden variance recovered",
            100.0 * (1.0 - left / total)
        );
    }
    Ok(())
}
