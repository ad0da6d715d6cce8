/*!
The methods CDIMC-net is compared with (Table 2 of its paper), each a
[`Clusterer`](cdimc_core::Clusterer) in one file with its citation.

Every method is a plain struct of settings with documented defaults; [`method`] gives any of them by
name, with some of its settings as JSON.

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
