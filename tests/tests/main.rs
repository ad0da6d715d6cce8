//! Workspace integration tests.

mod contract;
mod datasets;
mod golden;
mod numerics;
mod protocol;
