//! Runs compared methods by name on the same incomplete views.
#![allow(clippy::print_stdout)]

use cdimc_data::{MissingPattern, Seed, SyntheticViews};
use serde_json::Value;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let dataset = SyntheticViews { n_samples: 60, ..SyntheticViews::default() };
    let dataset = dataset.generate(Seed::new(1))?;
    let mask = MissingPattern::PerView(0.3).mask(60, dataset.n_views(), Seed::new(1))?;
    let data = dataset.observe(mask)?;
    for name in ["concat", "best-view", "daimc", "mkkm-ik"] {
        let clustering =
            cdimc_baselines::method(name, Value::Null)?.cluster(&data, 4, Seed::new(1))?;
        println!("{name}: {:?}", &clustering.labels[..10]);
    }
    Ok(())
}
