//! Workspace integration tests.

mod datasets;
mod factorizations;
mod golden;
mod preprocessing;
