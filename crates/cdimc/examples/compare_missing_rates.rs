//! Compares methods under four missing rates on the digits that come with the library.
#![allow(clippy::print_stdout)]

use cdimc::metrics::accuracy;
use cdimc::prelude::*;
use cdimc::tables::datasets::Catalog;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let digits = Catalog::new([])?.load("digits")?;
    let truth = digits.labels().ok_or("digits have labels")?.to_vec();
    println!("accuracy     {:>7} {:>7} {:>7} {:>7}", "10 %", "30 %", "50 %", "70 %");
    for name in ["concat", "daimc", "opimc"] {
        let method = cdimc::method(name, serde_json::Value::Null)?;
        print!("{name:<12}");
        for rate in [0.1, 0.3, 0.5, 0.7] {
            let pattern = MissingPattern::PerView(rate);
            let mask = pattern.mask(digits.n_samples(), digits.n_views(), Seed::new(0))?;
            let found = method.cluster(&digits.observe(mask)?, digits.n_classes(), Seed::new(0))?;
            print!(" {:>7.3}", accuracy(&truth, &found.labels)?);
        }
        println!();
    }
    Ok(())
}
