/*!
The methods that the paper compares with CDIMC-net (its Table 2), each a [`Clusterer`](cdimc_core::Clusterer) in one
file or folder with its citation.

Every method is a plain struct of settings with defaults; [`method`] builds any of them from its name and settings as
JSON.

```
let concat = cdimc_baselines::method("concat", serde_json::json!({ "restarts": 5 }))?;
assert_eq!(concat.name(), "concat");
# Ok::<(), cdimc_core::MethodError>(())
```
*/

pub use crate::{
    methods::*,
    shared::{
        kernels::{Kernel, KernelScaling},
        nonnegative::Nonnegative,
    },
};

mod methods;
mod shared;
