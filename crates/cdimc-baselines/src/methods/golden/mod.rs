//! The compared methods against independent programs, from the same starting values.

mod factorizations;
mod kernel_and_paired;
