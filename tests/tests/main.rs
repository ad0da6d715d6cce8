//! Workspace integration tests.

mod datasets;
mod golden;
