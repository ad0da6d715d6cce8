//! Integration tests of the workspace are in `tests/`; this library only holds the guide.

/// Compiles the programs of the guide.
#[cfg(doctest)]
#[doc = include_str!("../../docs/guides/rust.md")]
struct Guide;
