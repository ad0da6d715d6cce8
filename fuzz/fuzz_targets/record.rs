#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    cdimc_experiments::fuzzing::record(bytes);
});
