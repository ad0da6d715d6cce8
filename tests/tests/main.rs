//! Workspace integration tests.

mod datasets;
mod golden;
mod preprocessing;
