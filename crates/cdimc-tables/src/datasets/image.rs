//! Computes views of gray images, stored one per row of `height * width` values: edges, Fourier magnitudes, profiles.

use ndarray::{Array2, ArrayView2};

/// Returns the edge image: 3x3 gray dilation with a zero border, minus the image.
///
/// `images`: `(n_samples, height * width)`; the result has the same shape. It equals the edge view that the authors of
/// `PMVC_CGAN` distribute for MNIST.
pub(crate) fn edges(images: ArrayView2<f64>, [height, width]: [usize; 2]) -> Array2<f64> {
    let mut edges = Array2::zeros(images.raw_dim());
    for (image, mut edge) in images.outer_iter().zip(edges.outer_iter_mut()) {
        for y in 0..height {
            for x in 0..width {
                let rows = y.saturating_sub(1)..(y + 2).min(height);
                let columns = x.saturating_sub(1)..(x + 2).min(width);
                let inside = rows.len() * columns.len() == 9;
                let border = if inside { f64::NEG_INFINITY } else { 0.0 };
                let dilated = rows
                    .flat_map(|r| columns.clone().map(move |c| r * width + c))
                    .fold(border, |most, pixel| most.max(image[pixel]));
                edge[y * width + x] = dilated - image[y * width + x];
            }
        }
    }
    edges
}

/// Returns the magnitudes of the two-dimensional discrete Fourier transform, each once.
///
/// |F(u, v)| of a real image equals |F(-u, -v)|, so one of each pair is kept: 34 of 64 for an image of 8 x 8. `images`:
/// `(n_samples, height * width)`.
pub(crate) fn fourier_magnitudes(
    images: ArrayView2<f64>,
    [height, width]: [usize; 2],
) -> Array2<f64> {
    let frequencies: Vec<(usize, usize)> = (0..height)
        .flat_map(|u| (0..width).map(move |v| (u, v)))
        .filter(|&(u, v)| (u, v) <= ((height - u) % height, (width - v) % width))
        .collect();
    let wave = |product: usize, period: usize| {
        (2.0 * std::f64::consts::PI * (product % period) as f64 / period as f64).sin_cos()
    };
    let mut magnitudes = Array2::zeros((images.nrows(), frequencies.len()));
    for (f, &(u, v)) in frequencies.iter().enumerate() {
        // The wave of (u, v) over the image: e^(-2 pi i (u y / height + v x / width)).
        let waves: Vec<(f64, f64)> = (0..height * width)
            .map(|pixel| {
                let (sin_y, cos_y) = wave(u * (pixel / width), height);
                let (sin_x, cos_x) = wave(v * (pixel % width), width);
                (cos_y * cos_x - sin_y * sin_x, sin_y * cos_x + cos_y * sin_x)
            })
            .collect();
        for (image, magnitude) in images.outer_iter().zip(magnitudes.column_mut(f)) {
            let (real, imaginary) = image
                .iter()
                .zip(&waves)
                .fold((0.0, 0.0), |(re, im), (x, (cos, sin))| (re + x * cos, im - x * sin));
            *magnitude = real.hypot(imaginary);
        }
    }
    magnitudes
}

/// Returns the sums over rows, columns, diagonals and anti-diagonals, in this order.
///
/// `images`: `(n_samples, height * width)`; the result is `(n_samples, 3 (height + width) - 2)`.
pub(crate) fn profiles(images: ArrayView2<f64>, [height, width]: [usize; 2]) -> Array2<f64> {
    let n_diagonals = height + width - 1;
    let mut profiles = Array2::zeros((images.nrows(), height + width + 2 * n_diagonals));
    for (image, mut profile) in images.outer_iter().zip(profiles.outer_iter_mut()) {
        for (pixel, value) in image.iter().enumerate() {
            let (y, x) = (pixel / width, pixel % width);
            profile[y] += value;
            profile[height + x] += value;
            profile[height + width + (x + height - 1 - y)] += value;
            profile[height + width + n_diagonals + (x + y)] += value;
        }
    }
    profiles
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;
    use ndarray::array;

    #[test]
    fn the_border_of_a_dilation_is_zero() {
        let image = array![[-1.0, -2.0, 0.0, 0.0, 5.0, 0.0, 0.0, 0.0, 0.0]];
        assert_eq!(edges(image.view(), [3, 3]), 5.0_f64 - &image);
        // Below zero, the border is the largest value.
        let image = array![[-1.0, -2.0, -3.0, -4.0]];
        assert_eq!(edges(image.view(), [2, 2]), array![[1.0, 2.0, 3.0, 4.0]]);
        // Only the middle pixel of 3 x 3 does not touch the border.
        let image = Array2::from_elem((1, 9), -1.0);
        let expected = array![[1.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0]];
        assert_eq!(edges(image.view(), [3, 3]), expected);
    }

    #[test]
    fn fourier_magnitudes_keep_energy_and_ignore_position() {
        let pixel = |i: usize| ((i * 37 + 11) % 17) as f64;
        let image = Array2::from_shape_fn((1, 64), |(_, i)| pixel(i));
        let magnitudes = fourier_magnitudes(image.view(), [8, 8]);
        assert_eq!(magnitudes.ncols(), 34);
        assert_relative_eq!(magnitudes[[0, 0]], image.sum(), max_relative = 1e-12);
        // Parseval: the four frequencies that are their own mirror count once, the others twice.
        let energy: f64 = magnitudes.iter().map(|m| 2.0 * m * m).sum();
        let sign = |wave: usize| if (wave / 4).is_multiple_of(2) { 1.0 } else { -1.0 };
        let own_mirror: f64 = [(0, 0), (0, 4), (4, 0), (4, 4)]
            .iter()
            .map(|&(u, v)| {
                let sum: f64 = (0..64).map(|i| sign(u * (i / 8) + v * (i % 8)) * pixel(i)).sum();
                sum * sum
            })
            .sum();
        let pixels: f64 = image.iter().map(|x| x * x).sum();
        assert_relative_eq!(energy - own_mirror, 64.0 * pixels, max_relative = 1e-12);
        let shifted =
            Array2::from_shape_fn((1, 64), |(_, i)| pixel((i / 8 + 3) % 8 * 8 + (i % 8 + 6) % 8));
        let other = fourier_magnitudes(shifted.view(), [8, 8]);
        assert_relative_eq!(magnitudes, other, epsilon = 1e-9);
    }

    #[test]
    fn profiles_sum_rows_columns_and_both_diagonals() {
        let image = array![[1.0, 2.0, 4.0, 8.0, 16.0, 32.0]];
        let expected = array![[
            7.0, 56.0, // rows
            9.0, 18.0, 36.0, // columns
            8.0, 17.0, 34.0, 4.0, // diagonals, from the lower left corner
            1.0, 10.0, 20.0, 32.0 // anti-diagonals, from the upper left corner
        ]];
        assert_eq!(profiles(image.view(), [2, 3]), expected);
    }
}
