//! Workspace integration tests.

mod contract;
mod datasets;
mod golden;
mod preprocessing;
mod protocol;
