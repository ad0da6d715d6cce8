//! Clusters two CSV files that share an id column: `cargo run --example cluster_two_files -- rna.csv
//! protein.csv patient 4`. Without arguments it takes files of the repository.
#![allow(clippy::print_stdout)]

use cdimc::prelude::*;
use cdimc::tables::{ReadOptions, join, read_views};
use std::error::Error;

/// Files of the repository, their id column, and a number of clusters.
const FILES: [&str; 4] = [
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/rna.csv"),
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/protein.csv"),
    "patient",
    "4",
];

fn main() -> Result<(), Box<dyn Error>> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let [first, second, id, n_clusters] =
        <[String; 4]>::try_from(given).unwrap_or_else(|_| FILES.map(str::to_owned));

    let options = ReadOptions { id: Some(id), ..ReadOptions::default() };
    let mut tables = read_views(&first.parse()?, &options)?;
    tables.extend(read_views(&second.parse()?, &options)?);
    let joined = join(tables, false)?;

    let mut net = CdimcNet::default().with_analysis(TMixture::default());
    net.pretrain.epochs = 100;
    net.finetune.rounds = 20;
    let clustering = net.cluster(&joined.data, n_clusters.parse()?, Seed::new(0))?;
    for (id, label) in joined.ids.iter().zip(&clustering.labels).take(10) {
        println!("{id}: cluster {label}");
    }
    println!("... {} samples in all", joined.ids.len());
    Ok(())
}
