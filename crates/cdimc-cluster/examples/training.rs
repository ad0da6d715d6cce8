//! CDIMC-net on views of which 30 % are missing, and the model that it makes.
#![allow(clippy::print_stdout)]

use cdimc_cluster::{CdimcNet, Finetune, Pretrain};
use cdimc_core::{Clusterer, Observer};
use cdimc_data::{MissingPattern, Seed, SyntheticViews};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let dataset = SyntheticViews { n_samples: 80, ..SyntheticViews::default() };
    let dataset = dataset.generate(Seed::new(1))?;
    let mask = MissingPattern::PerView(0.3).mask(80, dataset.n_views(), Seed::new(1))?;
    let data = dataset.observe(mask)?;
    // A training for a quick look; the defaults take three times 500 epochs and up to 100 rounds.
    let net = CdimcNet {
        pretrain: Pretrain { epochs: 10, ..Pretrain::default() },
        finetune: Finetune { rounds: 3, ..Finetune::default() },
        ..CdimcNet::default()
    };
    let fitted = net.fit(&data, 4, Seed::new(1), &Observer::silent())?;
    println!("clusters of the first samples: {:?}", &fitted.clustering.labels[..10]);
    if let Some(model) = fitted.model {
        println!(
            "views filled in: {:?}",
            model.impute(&data)?.iter().map(ndarray::ArrayBase::dim).collect::<Vec<_>>()
        );
    }
    Ok(())
}
