//! Clusters two CSV files that share an id column: `cargo run --example cluster_two_files -- rna.csv
//! protein.csv patient 4`. Without arguments it makes two small files of its own.
#![allow(clippy::print_stdout)]

use cdimc::prelude::*;
use cdimc::tables::{ReadOptions, join, read_views};
use std::error::Error;
use std::fmt::Write;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [first, second, id, n_clusters] = match <[String; 4]>::try_from(arguments) {
        Ok(given) => given,
        Err(_) => own_files(folder.path())?,
    };

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

/// Writes two files of three groups; each lacks a quarter of the patients, which the other has.
fn own_files(folder: &std::path::Path) -> Result<[String; 4], Box<dyn Error>> {
    let mut paths = Vec::new();
    for (view, name) in (0..).zip(["rna.csv", "protein.csv"]) {
        let mut text = String::from("patient,a,b,c\n");
        for i in (0..120_u32).filter(|i| i % 4 != 2 * view) {
            let group = f64::from(i % 3);
            let noise = f64::from(i * 7919 % 101) / 200.0;
            writeln!(text, "p{i},{},{},{}", group + noise, 2.0 - group, group * noise)?;
        }
        let path = folder.join(name);
        std::fs::write(&path, text)?;
        paths.push(path.display().to_string());
    }
    let [first, second] = <[String; 2]>::try_from(paths).map_err(|_| "two files")?;
    Ok([first, second, "patient".into(), "3".into()])
}
