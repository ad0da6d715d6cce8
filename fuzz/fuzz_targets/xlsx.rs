#![no_main]

#[path = "../bodies/tables.rs"]
mod tables;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    tables::table("table.xlsx", bytes);
});
