/*!
CDIMC-net: cognitive deep incomplete multi-view clustering (Wen et al., IJCAI 2020), with self-paced selection.

[`CdimcNet`] holds the settings of the method and is a [`Clusterer`](cdimc_core::Clusterer). Its `start` returns
a [`Training`] that goes step by step; its model is a [`CdimcModel`].

```
use cdimc_cluster::{CdimcNet, Finetune, Pretrain};
use cdimc_core::{Clusterer, Silent};
use cdimc_data::{MissingPattern, Seed, SyntheticViews};
use cdimc_mixture::TMixture;

let dataset = SyntheticViews { n_samples: 60, ..SyntheticViews::default() }.generate(Seed::new(1))?;
let mask = MissingPattern::PerView(0.3).mask(60, dataset.n_views(), Seed::new(1).stream("mask"))?;
let data = dataset.observe(mask)?;
// A training this short is for the example only.
let net = CdimcNet {
    pretrain: Pretrain { epochs: 5, ..Pretrain::default() },
    finetune: Finetune { rounds: 2, ..Finetune::default() },
    ..CdimcNet::default()
}
.with_analysis(TMixture::default());
let fitted = net.fit(&data, 4, Seed::new(1), &Silent)?;
assert_eq!(fitted.clustering.labels.len(), 60);
let model = fitted.model.expect("CDIMC-net makes a model");
assert_eq!(model.predict(&data)?.labels, fitted.clustering.labels);
# Ok::<(), Box<dyn std::error::Error>>(())
```
*/

pub use crate::cdimc_net::{
    Advanced, AgeRule, CdimcModel, CdimcNet, Choice, Decay, Finetune, Finetuning, Input, OneOrMore,
    Pretrain, Round, Scope, Stage, Training,
};

mod cdimc_net;
