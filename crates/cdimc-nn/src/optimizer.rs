//! SGD with momentum, and Adam: settings, state and steps.

use crate::{NnError, Weights, error::check_count, real::Real};
use candle_core::{CpuStorage, InplaceOp1, Layout, Result as TensorResult, Tensor};
use cdimc_core::check::{below_one, positive};
use pulp::Arch;
use std::cell::RefCell;

/// Optimizer with its settings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Optimizer {
    /// u <- momentum u + g; theta <- theta - `learning_rate` u, with u = 0 initially (as in PyTorch).
    Sgd {
        /// Step length.
        learning_rate: f64,
        /// Share of the last step that is kept, in [0, 1).
        momentum: f64,
    },
    /// Adam with bias correction and no weight decay (as in PyTorch).
    Adam {
        /// Step length.
        learning_rate: f64,
        /// Decay of the mean of gradients.
        beta1: f64,
        /// Decay of the mean of squared gradients.
        beta2: f64,
    },
}

/// Added by Adam to the root in the denominator (PyTorch's default, as in the authors' code).
const EPSILON: f64 = 1e-8;

/// State of an optimizer between two steps.
#[derive(Debug, Clone, PartialEq)]
pub struct OptimizerState {
    /// Number of steps since the stage started.
    pub steps: u64,
    /// SGD: the momentum u. Adam: the means of gradients and of squared gradients.
    pub moments: Vec<Weights>,
}

/// Optimizer of the current stage of training, and the number of its steps.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Stage {
    optimizer: Option<Optimizer>,
    pub(crate) steps: u64,
}

impl Stage {
    /// Returns a stage without steps.
    pub(crate) fn new(optimizer: Optimizer) -> Result<Self, NnError> {
        optimizer.check()?;
        Ok(Self { optimizer: Some(optimizer), steps: 0 })
    }

    pub(crate) fn optimizer(self) -> Result<Optimizer, NnError> {
        let none = "optimizer = none: a stage must be started before its first step";
        self.optimizer.ok_or_else(|| NnError::Unfit(none.to_owned()))
    }

    pub(crate) fn set_learning_rate(&mut self, rate: f64) -> Result<(), NnError> {
        let mut optimizer = self.optimizer()?;
        let (Optimizer::Sgd { learning_rate, .. } | Optimizer::Adam { learning_rate, .. }) =
            &mut optimizer;
        *learning_rate = rate;
        optimizer.check()?;
        self.optimizer = Some(optimizer);
        Ok(())
    }

    pub(crate) fn next_step(&mut self) -> Result<Step, NnError> {
        let optimizer = self.optimizer()?;
        self.steps += 1;
        Ok(optimizer.step(self.steps))
    }
}

impl Optimizer {
    /// Checks that every setting is in its range.
    fn check(&self) -> Result<(), NnError> {
        match *self {
            Self::Sgd { learning_rate, momentum } => {
                positive("learning-rate", learning_rate)?;
                below_one("momentum", momentum)?;
            }
            Self::Adam { learning_rate, beta1, beta2 } => {
                positive("learning-rate", learning_rate)?;
                below_one("beta1", beta1)?;
                below_one("beta2", beta2)?;
            }
        }
        Ok(())
    }

    /// Number of moments per parameter.
    pub(crate) fn n_moments(self) -> usize {
        match self {
            Self::Sgd { .. } => 1,
            Self::Adam { .. } => 2,
        }
    }

    /// Returns the moments of `theta` before the first step, in separate memory, because steps change them in place.
    pub(crate) fn no_moments(self, theta: &Tensor) -> TensorResult<Vec<Tensor>> {
        (0..self.n_moments()).map(|_| Ok(theta.zeros_like()?.detach())).collect()
    }

    /// Returns step number `t`, from 1 on.
    pub(crate) fn step(self, t: u64) -> Step {
        let t = i32::try_from(t).unwrap_or(i32::MAX);
        let (rate, root) = match self {
            Self::Sgd { learning_rate, .. } => (learning_rate, 1.0),
            Self::Adam { learning_rate, beta1, beta2 } => {
                (learning_rate / (1.0 - beta1.powi(t)), 1.0 / (1.0 - beta2.powi(t)).sqrt())
            }
        };
        Step { optimizer: self, rate, root }
    }
}

/// One step of an optimizer, with the bias corrections of its number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    optimizer: Optimizer,
    /// SGD: learning rate. Adam: learning rate / (1 - beta1^t).
    rate: f64,
    /// Adam: 1 / sqrt(1 - beta2^t).
    root: f64,
}

impl Step {
    /// Moves the numbers `theta` and their `moments` along a gradient.
    pub(crate) fn take<T: Real>(self, theta: &mut [T], moments: &mut [&mut [T]], gradient: &[T]) {
        let (rate, root) = (T::of(self.rate), T::of(self.root));
        match (self.optimizer, moments) {
            (Optimizer::Sgd { momentum, .. }, [u]) => {
                let momentum = T::of(momentum);
                Arch::new().dispatch(|| {
                    for ((theta, u), &gradient) in theta.iter_mut().zip(u.iter_mut()).zip(gradient)
                    {
                        *u = momentum * *u + gradient;
                        *theta -= rate * *u;
                    }
                });
            }
            (Optimizer::Adam { beta1, beta2, .. }, [mean, square]) => {
                let [beta1, beta2, epsilon] = [beta1, beta2, EPSILON].map(T::of);
                let (rest1, rest2) = (T::of(1.0) - beta1, T::of(1.0) - beta2);
                Arch::new().dispatch(|| {
                    let moments = mean.iter_mut().zip(square.iter_mut());
                    let parameters = theta.iter_mut().zip(moments).zip(gradient);
                    for ((theta, (mean, square)), &gradient) in parameters {
                        *mean = beta1 * *mean + rest1 * gradient;
                        *square = beta2 * *square + rest2 * gradient * gradient;
                        *theta -= rate * *mean / (square.square_root() * root + epsilon);
                    }
                });
            }
            _ => unreachable!("a stage starts with the moments of its optimizer"),
        }
    }

    /// Updates `moments` and returns the new `theta`. On the CPU it changes `theta` in place, in one pass.
    pub(crate) fn move_along(
        self,
        theta: &Tensor,
        moments: &mut [Tensor],
        gradient: &Tensor,
    ) -> TensorResult<Tensor> {
        if !theta.device().is_cpu() {
            return theta.sub(&self.decrease(moments, gradient)?);
        }
        let take = |moments: &mut [&mut [f32]]| {
            with_numbers(theta, |theta| {
                with_numbers(gradient, |gradient| {
                    self.take(theta, moments, gradient);
                    Ok(())
                })
            })
        };
        let taken = match &*moments {
            [u] => with_numbers(u, |u| take(&mut [u])),
            [mean, square] => {
                with_numbers(mean, |mean| with_numbers(square, |square| take(&mut [mean, square])))
            }
            _ => unreachable!("a stage starts with the moments of its optimizer"),
        };
        taken.map(|()| theta.clone())
    }

    /// Updates `moments` with a gradient and returns the decrease of the parameter.
    fn decrease(self, moments: &mut [Tensor], gradient: &Tensor) -> TensorResult<Tensor> {
        match (self.optimizer, moments) {
            (Optimizer::Sgd { momentum, .. }, [u]) => {
                *u = ((&*u * momentum)? + gradient)?;
                &*u * self.rate
            }
            (Optimizer::Adam { beta1, beta2, .. }, [mean, square]) => {
                *mean = ((&*mean * beta1)? + (gradient * (1.0 - beta1))?)?;
                *square = ((&*square * beta2)? + (gradient.sqr()? * (1.0 - beta2))?)?;
                mean.div(&square.sqrt()?.affine(self.root, EPSILON)?)? * self.rate
            }
            _ => unreachable!("a stage starts with the moments of its optimizer"),
        }
    }
}

/// Calls `visit` with the numbers of a tensor on the CPU.
fn with_numbers(
    tensor: &Tensor,
    visit: impl FnMut(&mut [f32]) -> TensorResult<()>,
) -> TensorResult<()> {
    tensor.inplace_op1(&Visit(RefCell::new(visit)))
}

struct Visit<F>(RefCell<F>);

impl<F: FnMut(&mut [f32]) -> TensorResult<()>> InplaceOp1 for Visit<F> {
    fn name(&self) -> &'static str {
        "visit"
    }

    fn cpu_fwd(&self, storage: &mut CpuStorage, layout: &Layout) -> TensorResult<()> {
        match (storage, layout.contiguous_offsets()) {
            (CpuStorage::F32(numbers), Some((from, to))) => {
                (self.0.borrow_mut())(&mut numbers[from..to])
            }
            _ => candle_core::bail!("parameters are 32-bit numbers in order"),
        }
    }
}

impl OptimizerState {
    pub(crate) fn check(&self, optimizer: Optimizer, weights: &Weights) -> Result<(), NnError> {
        check_count("moments", optimizer.n_moments(), self.moments.len())?;
        for moment in &self.moments {
            check_count("layers of a moment", weights.layers().count(), moment.layers().count())?;
            for (expected, found) in weights.layers().zip(moment.layers()) {
                check_count("rows of a moment", expected.n_out(), found.n_out())?;
                check_count("columns of a moment", expected.n_in(), found.n_in())?;
                check_count("bias of a moment", expected.bias.len(), found.bias.len())?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use candle_core::Device;

    /// Returns `start` after four steps down Σ x³, with gradient 3x², by the definitions.
    fn expected(optimizer: Optimizer, start: f64) -> f64 {
        let (mut x, mut mean, mut square) = (start, 0.0, 0.0);
        for t in 1..=4 {
            let g: f64 = 3.0 * x * x;
            match optimizer {
                Optimizer::Sgd { learning_rate, momentum } => {
                    mean = momentum * mean + g;
                    x -= learning_rate * mean;
                }
                Optimizer::Adam { learning_rate, beta1, beta2 } => {
                    mean = beta1 * mean + (1.0 - beta1) * g;
                    square = beta2 * square + (1.0 - beta2) * g * g;
                    let (mean, square) =
                        (mean / (1.0 - beta1.powi(t)), square / (1.0 - beta2.powi(t)));
                    x -= learning_rate * mean / (f64::sqrt(square) + EPSILON);
                }
            }
        }
        x
    }

    #[test]
    fn slices_and_tensors_take_the_steps_of_the_definitions() {
        for optimizer in [
            Optimizer::Sgd { learning_rate: 0.1, momentum: 0.9 },
            Optimizer::Adam { learning_rate: 0.1, beta1: 0.5, beta2: 0.999 },
        ] {
            let start = [0.4_f32, -0.3, 0.1];
            let mut theta = start.map(f64::from);
            let mut moments = [[0.0; 3]; 2];
            let mut tensor = Tensor::new(&start, &Device::Cpu).unwrap();
            let mut tensors = optimizer.no_moments(&tensor).unwrap();
            for t in 1..=4 {
                let gradient = theta.map(|x| 3.0 * x * x);
                let [first, second] = &mut moments;
                let mut both: [&mut [f64]; 2] = [first, second];
                optimizer.step(t).take(&mut theta, &mut both[..optimizer.n_moments()], &gradient);
                let gradient = (tensor.sqr().unwrap() * 3.0).unwrap();
                let decrease = optimizer.step(t).decrease(&mut tensors, &gradient).unwrap();
                tensor = (tensor - decrease).unwrap();
            }
            let tensor = tensor.to_vec1::<f32>().unwrap();
            for ((&start, theta), tensor) in start.iter().zip(theta).zip(tensor) {
                let expected = expected(optimizer, f64::from(start));
                approx::assert_abs_diff_eq!(theta, expected, epsilon = 1e-12);
                approx::assert_abs_diff_eq!(f64::from(tensor), expected, epsilon = 1e-5);
            }
        }
    }
}
