#![no_main]

mod bodies;

// The crate that decodes is allowed to panic, which the reader catches; a panic that comes out of it still ends the run.
libfuzzer_sys::fuzz_target!(init: std::panic::set_hook(Box::new(|_| {})), |bytes: &[u8]| {
    bodies::table("table.parquet", bytes);
});
