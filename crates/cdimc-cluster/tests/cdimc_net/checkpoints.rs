//! Tests of trainings that are stopped and resumed.

use super::{blobs, chosen, small};
use cdimc_cluster::{CdimcNet, OneOrMore, Pretrain, Training};
use cdimc_core::{ClusterError, Clusterer, Fitted, Model, Silent, Step};
use cdimc_data::{MultiView, Seed};
use std::ops::ControlFlow;

fn resume(data: &MultiView, checkpoint: &[u8]) -> Result<Training, ClusterError> {
    Training::resume(data, checkpoint, small().analysis, &Silent)
}

#[test]
fn a_training_resumed_after_any_step_ends_in_the_same_bits() {
    let (data, _) = blobs(45, 5);
    let net = CdimcNet { pretrain: Pretrain { epochs: 3, ..small().pretrain }, ..small() };
    let several = CdimcNet { pretrain: net.pretrain.clone(), ..chosen() };
    for net in [net, several] {
        let (model, clustering) = net.train(&data, 3, Seed::new(1), &Silent).unwrap();
        let mut all = net.start(&data, 3, Seed::new(1), &Silent).unwrap();
        let n_steps = std::iter::from_fn(|| all.step().unwrap()).count();
        assert!(n_steps >= 9, "{n_steps} steps");
        for steps in 0..=n_steps {
            let mut training = net.start(&data, 3, Seed::new(1), &Silent).unwrap();
            for _ in 0..steps {
                training.step().unwrap().unwrap();
            }
            let resumed = resume(&data, &training.checkpoint().unwrap()).unwrap();
            let (again, same) = resumed.finish().unwrap();
            assert_eq!(same, clustering, "after {steps} steps");
            assert_eq!(again.to_bytes().unwrap(), model.to_bytes().unwrap());
        }
    }
}

#[test]
fn an_observer_stops_the_training_and_another_fit_resumes_from_its_checkpoint() {
    let (data, _) = blobs(45, 5);
    let net = CdimcNet { pretrain: Pretrain { epochs: 3, ..small().pretrain }, ..small() };
    let whole = net.fit(&data, 3, Seed::new(1), &Silent).unwrap();
    let stop = |step: &Step| match step.stage {
        "finetune" => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    let Err(ClusterError::Interrupted { checkpoint: Some(checkpoint) }) =
        net.fit(&data, 3, Seed::new(1), &stop)
    else {
        panic!("stopped with a checkpoint");
    };
    let again = net.resume(&checkpoint, &data, &Silent).unwrap();
    assert_eq!(again.clustering, whole.clustering);
    let bytes = |fitted: Fitted| fitted.model.unwrap().to_bytes().unwrap();
    assert_eq!(bytes(again), bytes(whole));
    let other = CdimcNet { alpha: OneOrMore::One(0.5), ..net };
    assert_eq!(
        other.resume(&checkpoint, &data, &Silent).unwrap_err().to_string(),
        "the checkpoint was made with other settings: the same are needed"
    );
}

#[test]
fn a_checkpoint_of_other_data_is_refused() {
    let (data, _) = blobs(45, 5);
    let training = small().start(&data, 3, Seed::new(1), &Silent).unwrap();
    let checkpoint = training.checkpoint().unwrap();
    for other in [blobs(45, 6).0, blobs(46, 5).0] {
        let error = resume(&other, &checkpoint).err().unwrap().to_string();
        assert_eq!(error, "the checkpoint was made on other data: the same are needed");
    }
    let model = small().train(&data, 3, Seed::new(1), &Silent).unwrap().0.to_bytes().unwrap();
    let error = resume(&data, &model).err().unwrap().to_string();
    assert_eq!(error, "the file is a cdimc model: a cdimc checkpoint is needed");
}
