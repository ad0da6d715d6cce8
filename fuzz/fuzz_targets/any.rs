#![no_main]
//! Fuzz target for all file readers; `CDIMC_FUZZ` selects the reader by its folder in the corpus: `CDIMC_FUZZ=h5 cargo
//! +nightly fuzz run any corpus/h5`.

#[path = "../bodies/models.rs"]
mod models;
#[path = "../bodies/tables.rs"]
mod tables;

use std::sync::LazyLock;

static TARGET: LazyLock<String> = LazyLock::new(|| {
    std::env::var("CDIMC_FUZZ").expect("CDIMC_FUZZ names a folder of the corpora")
});

/// The crates that decode these may panic, which the reader catches. A panic that leaves the reader still ends the run.
fn allow_caught_panics() {
    if ["feather", "parquet"].contains(&TARGET.as_str()) {
        std::panic::set_hook(Box::new(|_| {}));
    }
}

libfuzzer_sys::fuzz_target!(init: allow_caught_panics(), |bytes: &[u8]| {
    match TARGET.as_str() {
        "checkpoint" => _ = models::checkpoint(bytes),
        "experiment" => _ = cdimc_experiments::fuzzing::experiment(bytes),
        "idx" => _ = tables::images(bytes),
        "manifest" => _ = tables::manifest(bytes),
        "model" => _ = models::model(bytes),
        "record" => _ = cdimc_experiments::fuzzing::record(bytes),
        ending => _ = tables::table(&format!("table.{ending}"), bytes),
    }
});
