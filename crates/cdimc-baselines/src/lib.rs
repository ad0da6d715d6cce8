#![doc = include_str!("../README.md")]

pub use crate::{
    methods::*,
    shared::{
        kernels::{Kernel, KernelScaling},
        observed_rows::Nonnegative,
    },
};

mod methods;
mod shared;
