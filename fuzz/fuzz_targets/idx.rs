#![no_main]

use cdimc_data::IdxFile;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(file) = IdxFile::parse("images.idx", bytes)
        && file.n_samples().saturating_mul(file.width()) < 1 << 23
    {
        assert!(file.matrix().is_ok());
    }
});
