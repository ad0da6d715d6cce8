#![no_main]

#[path = "../bodies/tables.rs"]
mod tables;

// The crate that decodes is allowed to panic, which the reader catches; a panic that comes out of it still ends the run.
libfuzzer_sys::fuzz_target!(init: std::panic::set_hook(Box::new(|_| {})), |bytes: &[u8]| {
    tables::table("table.parquet", bytes);
});
