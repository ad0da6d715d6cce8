//! `cargo xtask`; what it does is in the library, where fuzz targets reach it too.

fn main() -> std::process::ExitCode {
    xtask::main()
}
