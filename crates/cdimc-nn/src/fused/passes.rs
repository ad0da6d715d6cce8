//! The element-wise passes between the products, compiled for every instruction set and chosen at run time.

// The body of a pass and what it calls must end up in one function compiled for the processor at hand.
#![allow(clippy::inline_always)]

use crate::fused::product::{LANES, Line, Real, n_vectors};
use pulp::{Arch, Simd, WithSimd};

/// A function whose body is compiled for every instruction set, `$simd` of type `$set`.
macro_rules! pass {
    ($(#[$about:meta])* $name:ident($($argument:ident: $type:ty),* $(,)?) -> $output:ty,
     |$simd:ident: $set:ident| $body:block) => {
        $(#[$about])*
        pub(crate) fn $name<'a, T: Real>($($argument: $type),*) -> $output {
            struct Pass<'a, T> {
                $($argument: $type),*
            }
            impl<'a, T: Real> WithSimd for Pass<'a, T> {
                type Output = $output;

                #[inline(always)]
                fn with_simd<$set: Simd>(self, $simd: $set) -> $output {
                    let Self { $($argument),* } = self;
                    $body
                }
            }
            Arch::new().dispatch(Pass { $($argument),* })
        }
    };
}

pass! {
    /// y <- products + bias, then `ReLU` where `relu`, on lines that share a line of biases; NaN stays NaN.
    bias_rows(
        y: &'a mut [Line<T>],
        products: &'a [Line<T>],
        bias: &'a Line<T>,
        relu: bool,
    ) -> (), |simd: S| {
        for (y, product) in y.iter_mut().zip(products) {
            for i in 0..n_vectors::<T, S>() {
                y.put::<S>(i, biased::<T, S>(simd, product.at::<S>(i), bias.at::<S>(i), relu));
            }
        }
    }
}

pass! {
    /// The same where every line has one bias.
    bias_columns(
        y: &'a mut [Line<T>],
        products: &'a [Line<T>],
        biases: &'a [Line<T>],
        relu: bool,
    ) -> (), |simd: S| {
        let chunks = y.chunks_mut(LANES).zip(products.chunks(LANES));
        for ((y, products), biases) in chunks.zip(biases) {
            for ((y, product), &bias) in y.iter_mut().zip(products).zip(&biases.0) {
                for i in 0..n_vectors::<T, S>() {
                    y.put::<S>(i, biased::<T, S>(simd, product.at::<S>(i), T::splat(simd, bias), relu));
                }
            }
        }
    }
}

#[inline(always)]
fn biased<T: Real, S: Simd>(
    simd: S,
    product: T::Vector<S>,
    bias: T::Vector<S>,
    relu: bool,
) -> T::Vector<S> {
    let sum = T::plus(simd, product, bias);
    if relu { T::relu(simd, sum) } else { sum }
}

pass! {
    /// The gradient before `ReLU` from that behind it, `products`, where `y` is its output; the lines add to `sum`.
    unrelu_rows(
        gradient: &'a mut [Line<T>],
        products: &'a [Line<T>],
        y: &'a [Line<T>],
        sum: &'a mut Line<T>,
    ) -> (), |simd: S| {
        for i in 0..n_vectors::<T, S>() {
            let mut total = sum.at::<S>(i);
            for ((gradient, product), y) in gradient.iter_mut().zip(products).zip(y) {
                let kept = T::if_positive(simd, product.at::<S>(i), y.at::<S>(i));
                gradient.put::<S>(i, kept);
                total = T::plus(simd, total, kept);
            }
            sum.put::<S>(i, total);
        }
    }
}

pass! {
    /// The same where every line adds to a sum of its own.
    unrelu_columns(
        gradient: &'a mut [Line<T>],
        products: &'a [Line<T>],
        y: &'a [Line<T>],
        sums: &'a mut [Line<T>],
    ) -> (), |simd: S| {
        let lines = gradient.iter_mut().zip(products).zip(y).zip(sums);
        for (((gradient, product), y), sum) in lines {
            for i in 0..n_vectors::<T, S>() {
                let kept = T::if_positive(simd, product.at::<S>(i), y.at::<S>(i));
                gradient.put::<S>(i, kept);
                sum.put::<S>(i, T::plus(simd, sum.at::<S>(i), kept));
            }
        }
    }
}

pass! {
    /// Adds `lines` to `sum`.
    sum_rows(sum: &'a mut Line<T>, lines: &'a [Line<T>]) -> (), |simd: S| {
        for i in 0..n_vectors::<T, S>() {
            let mut total = sum.at::<S>(i);
            for line in lines {
                total = T::plus(simd, total, line.at::<S>(i));
            }
            sum.put::<S>(i, total);
        }
    }
}

pass! {
    /// Adds each line to a sum of its own.
    sum_columns(sums: &'a mut [Line<T>], lines: &'a [Line<T>]) -> (), |simd: S| {
        for (sum, line) in sums.iter_mut().zip(lines) {
            for i in 0..n_vectors::<T, S>() {
                sum.put::<S>(i, T::plus(simd, sum.at::<S>(i), line.at::<S>(i)));
            }
        }
    }
}

pass! {
    /// The numbers of each line of `lines` added up: one number a line.
    totals(sums: &'a mut [Line<T>], lines: &'a [Line<T>]) -> (), |simd: S| {
        for (sums, lines) in sums.iter_mut().zip(lines.chunks(LANES)) {
            for (sum, line) in sums.0.iter_mut().zip(lines) {
                *sum = total::<T, S>(simd, line);
            }
        }
    }
}

#[inline(always)]
fn total<T: Real, S: Simd>(simd: S, line: &Line<T>) -> T {
    let mut total = line.at::<S>(0);
    for i in 1..n_vectors::<T, S>() {
        total = T::plus(simd, total, line.at::<S>(i));
    }
    T::total(simd, total)
}

pass! {
    /// Returns `scale` times the sum of squares of `decoded` - `x`, and the gradient of that.
    reconstruction(
        gradient: &'a mut [Line<T>],
        decoded: &'a [Line<T>],
        x: &'a [Line<T>],
        scale: f64,
    ) -> f64, |simd: S| {
        let slope = T::splat(simd, T::of(2.0 * scale));
        let mut sum = 0.0;
        let chunks = decoded.chunks(LANES).zip(x.chunks(LANES));
        for (gradient, (decoded, x)) in gradient.chunks_mut(LANES).zip(chunks) {
            let mut squares = Line::default();
            for ((gradient, decoded), x) in gradient.iter_mut().zip(decoded).zip(x) {
                for i in 0..n_vectors::<T, S>() {
                    let difference = T::minus(simd, decoded.at::<S>(i), x.at::<S>(i));
                    let sum = squares.at::<S>(i);
                    squares.put::<S>(i, T::multiply_add(simd, difference, difference, sum));
                    gradient.put::<S>(i, T::times(simd, slope, difference));
                }
            }
            sum += total::<T, S>(simd, &squares).as_f64();
        }
        sum * scale
    }
}

pass! {
    /// u <- `momentum` u + gradient, theta <- theta - `rate` u.
    sgd(
        theta: &'a mut [Line<T>],
        u: &'a mut [Line<T>],
        gradient: &'a [Line<T>],
        rate: T,
        momentum: T,
    ) -> (), |simd: S| {
        let (against, momentum) = (T::splat(simd, -rate), T::splat(simd, momentum));
        for ((theta, u), gradient) in theta.iter_mut().zip(u).zip(gradient) {
            for i in 0..n_vectors::<T, S>() {
                let next = T::multiply_add(simd, momentum, u.at::<S>(i), gradient.at::<S>(i));
                u.put::<S>(i, next);
                theta.put::<S>(i, T::multiply_add(simd, against, next, theta.at::<S>(i)));
            }
        }
    }
}

/// The settings of one step of Adam, bias corrections included.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AdamStep<T> {
    /// Learning rate / (1 - beta1^t).
    pub(crate) rate: T,
    /// 1 / sqrt(1 - beta2^t).
    pub(crate) root: T,
    pub(crate) beta1: T,
    pub(crate) beta2: T,
    pub(crate) epsilon: T,
}

pass! {
    /// One step of Adam on a gradient, both moments and the parameters in one pass.
    adam(
        theta: &'a mut [Line<T>],
        mean: &'a mut [Line<T>],
        square: &'a mut [Line<T>],
        gradient: &'a [Line<T>],
        step: AdamStep<T>,
    ) -> (), |simd: S| {
        let splat = |value| T::splat(simd, value);
        let (against, root, epsilon) = (splat(-step.rate), splat(step.root), splat(step.epsilon));
        let (beta1, rest1) = (splat(step.beta1), splat(T::of(1.0) - step.beta1));
        let (beta2, rest2) = (splat(step.beta2), splat(T::of(1.0) - step.beta2));
        let parameters = theta.iter_mut().zip(mean).zip(square).zip(gradient);
        for (((theta, mean), square), gradient) in parameters {
            for i in 0..n_vectors::<T, S>() {
                let x = gradient.at::<S>(i);
                let squared = T::times(simd, T::times(simd, rest2, x), x);
                let first = T::multiply_add(simd, beta1, mean.at::<S>(i), T::times(simd, rest1, x));
                let second = T::multiply_add(simd, beta2, square.at::<S>(i), squared);
                let size = T::multiply_add(simd, T::square_root(simd, second), root, epsilon);
                mean.put::<S>(i, first);
                square.put::<S>(i, second);
                let step = T::over(simd, T::times(simd, against, first), size);
                theta.put::<S>(i, T::plus(simd, theta.at::<S>(i), step));
            }
        }
    }
}

pass! {
    /// `values` <- `factor` `values`.
    scale(values: &'a mut [T], factor: T) -> (), |_simd: S| {
        for value in values {
            *value *= factor;
        }
    }
}
