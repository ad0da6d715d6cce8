/*!
The methods CDIMC-net is compared with (Table 2 of its paper), each a
[`Clusterer`](cdimc_cluster::Clusterer) in one file with its citation.

Every method is a plain struct of settings with documented defaults; [`method`] gives any of them by
name, with some of its settings as JSON.

```
let concat = cdimc_baselines::method("concat", serde_json::json!({ "restarts": 5 }))?;
assert_eq!(concat.name(), "concat");
# Ok::<(), cdimc_baselines::MethodError>(())
```
*/

pub use crate::{
    chunk::Chunk,
    concat::Concat,
    daimc::{Daimc, DaimcFactors},
    imc_grmf::{ImcGrmf, ImcGrmfFit},
    img::{FirstLaplacian, Img, ImgFit, ImgReadOut, ImgStart},
    kernel_partition::KernelPartition,
    kernels::{Kernel, KernelScaling},
    mic::{Mic, MicFactors},
    mkkm_ik::MkkmIk,
    mkkm_ik_mkc::{Coefficients, KernelFilling, MkkmIkMkc},
    nonnegative::Nonnegative,
    omvc::{MissingWeight, Omvc},
    omvc_stream::{OmvcRows, OmvcStream},
    opimc::Opimc,
    opimc_stream::OpimcStream,
    paired_views::PairedViews,
    pmvc::{Pmvc, PmvcFactors},
    pmvc_cgan::PmvcCgan,
    registry::{Configured, MethodError, NAMES, configure, configured, method},
    single_views::BestView,
};

mod chunk;
mod concat;
mod daimc;
mod dense;
mod imc_grmf;
mod img;
mod kernel_partition;
mod kernels;
mod leading;
mod mask_groups;
mod mic;
mod mkkm_ik;
mod mkkm_ik_mkc;
mod nonnegative;
mod observed;
mod omvc;
mod omvc_stream;
mod opimc;
mod opimc_stream;
mod paired_views;
mod passes;
mod pmvc;
mod pmvc_cgan;
mod read_out;
mod registry;
mod running_fill;
mod simplex;
mod single_views;
