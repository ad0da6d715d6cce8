//! Replaces the readers of Parquet and Arrow if they are not built in.

use crate::error::{Flaw, Problem};
use crate::files::Decoded;
use crate::files::format::Request;

pub(super) fn read_arrow(_: Vec<u8>, _: Request<'_>) -> Result<Decoded, Problem> {
    let reason = "this build reads no Parquet or Arrow: build it with the feature `columnar`";
    Err(Flaw::from(reason).into())
}

pub(super) use read_arrow as read_parquet;
