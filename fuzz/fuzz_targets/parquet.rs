#![no_main]

mod bodies;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    bodies::table("table.parquet", bytes);
});
