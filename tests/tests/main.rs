//! Workspace integration tests.

mod golden;
