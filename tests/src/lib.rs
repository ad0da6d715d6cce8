//! Integration tests of the workspace are in `tests/`; this library is empty.
