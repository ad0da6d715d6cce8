//! How coarse the values of columns are.

use crate::coordinates::Kind;
use crate::coordinates::projection::Projection;
use ndarray::{ArrayView1, ArrayView2};

/// Values nearer to one another than this share of their range are one value.
const EQUAL: f64 = 1e-9;

/// What the variance of every cluster has beside that of its rows, one number a coordinate (ours, docs/methods/mixture.md). A
/// coordinate that is a column: δ² / 4, δ being the least distance between two of its values, the variance of a column that takes
/// two such values equally often; 0 where hardly two samples have the same value. A coordinate that is a sum of columns: their
/// variance, if all columns of the view take two values, as marks of categories and answers do, and otherwise 0. The mean of a
/// column is none of its values here: it stands where single cells were not measured.
///
/// A cluster of all samples with one answer to a question has no width in that answer, and so a density without bound: columns
/// of two or three values would be clusters by themselves, whatever the others say.
pub(crate) fn grains(projection: &Projection, x: ArrayView2<'_, f64>, rows: &[usize]) -> Vec<f64> {
    match (columns(projection), &projection.directions) {
        (Some(columns), _) => of_columns(projection, x, rows, &columns),
        (None, Some(directions)) if takes_two_values(x, rows) => {
            let variances = projection.variances(x, rows);
            let of_sum = |direction: ArrayView1<'_, f64>| {
                direction.iter().zip(&variances).map(|(w, variance)| w * w * variance).sum()
            };
            directions.columns().into_iter().map(of_sum).collect()
        }
        _ => vec![0.0; projection.width()],
    }
}

fn of_columns(
    projection: &Projection,
    x: ArrayView2<'_, f64>,
    rows: &[usize],
    columns: &[usize],
) -> Vec<f64> {
    let given = projection.given(x, rows);
    let mean_square = given.iter().map(|x| x * x).sum::<f64>() / rows.len().max(1) as f64;
    let grain = |&j: &usize| {
        // What a column is divided by in `unit` differs from row to row.
        let is_unit = projection.kind == Kind::Unit;
        let scale = if is_unit { mean_square.sqrt() } else { projection.scales[j] };
        let measured = measured(x.column(j), rows);
        let half = step(measured.into_iter().map(|i| given[[i, j]]).collect()) / 2.0;
        if scale > 0.0 { (half / scale) * (half / scale) } else { 0.0 }
    };
    columns.iter().map(grain).collect()
}

/// The columns that are the coordinates, if each coordinate is one.
fn columns(projection: &Projection) -> Option<Vec<usize>> {
    let Some(directions) = &projection.directions else {
        return Some((0..projection.width()).collect());
    };
    let only = |direction: ArrayView1<'_, f64>| {
        let is_alone = direction.iter().filter(|&&x| x != 0.0).count() == 1;
        direction.iter().position(|&x| x == 1.0).filter(|_| is_alone)
    };
    directions.columns().into_iter().map(only).collect()
}

/// The least distance between two values, or 0 where there are more than half as many values as rows.
fn step(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let (Some(first), Some(last)) = (values.first(), values.last()) else { return 0.0 };
    let equal = EQUAL * (last - first);
    let steps: Vec<f64> =
        values.windows(2).map(|pair| pair[1] - pair[0]).filter(|&step| step > equal).collect();
    let is_coarse = 2 * (steps.len() + 1) <= values.len();
    if is_coarse && !steps.is_empty() {
        steps.into_iter().fold(f64::INFINITY, f64::min)
    } else {
        0.0
    }
}

/// Whether every column takes at most two values, its mean aside.
fn takes_two_values(x: ArrayView2<'_, f64>, rows: &[usize]) -> bool {
    // Of every column up to three values, and how often they occur. Row by row: a column of a large view is far apart in memory.
    let mut levels = vec![([f64::NAN; 3], [0.0; 3]); x.ncols()];
    for &i in rows {
        for (value, (values, counts)) in x.row(i).iter().zip(&mut levels) {
            let place = values.iter().position(|known| known == value || known.is_nan());
            let Some(place) = place else { return false };
            values[place] = *value;
            counts[place] += 1.0;
        }
    }
    levels.into_iter().all(|(values, counts)| {
        let all = || values.iter().zip(counts).filter(|(_, n)| *n > 0.0);
        let mean = all().map(|(x, n)| x * n / rows.len() as f64).sum::<f64>();
        let largest = all().map(|(x, _)| (x - mean).abs()).fold(0.0, f64::max);
        all().filter(|(x, _)| (*x - mean).abs() > EQUAL * largest).count() <= 2
    })
}

/// Which of `rows` do not have the mean of the column.
fn measured(column: ArrayView1<'_, f64>, rows: &[usize]) -> Vec<usize> {
    let n = rows.len() as f64;
    let mean: f64 = rows.iter().map(|&i| column[i] / n).sum();
    let largest = rows.iter().map(|&i| (column[i] - mean).abs()).fold(0.0, f64::max);
    (0..rows.len()).filter(|&i| (column[rows[i]] - mean).abs() > EQUAL * largest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use cdimc_data::MultiView;
    use ndarray::{Array2, array};

    fn grains_of(x: Array2<f64>, q: usize, kind: Kind) -> Vec<f64> {
        let rows: Vec<usize> = (0..x.nrows()).collect();
        let data = MultiView::from_nan_rows(vec![x]).unwrap();
        let projection = Projection::fit(&data, 0, &rows, q, kind).unwrap();
        grains(&projection, data.view(0), &rows)
    }

    fn answers() -> Array2<f64> {
        array![
            [0.0, 0.31, 10.0],
            [1.0, 0.72, 10.0],
            [1.0, 0.18, 30.0],
            [0.0, 0.94, 40.0],
            [1.0, 0.55, 30.0],
            [0.0, 0.03, 40.0],
        ]
    }

    #[test]
    fn a_column_of_two_values_counts_as_half_their_distance() {
        // In units of its deviation, which is half the distance as well.
        let grains = grains_of(answers(), 5, Kind::Standard);
        approx::assert_relative_eq!(grains[0], 1.0, max_relative = 1e-12);
        assert_eq!(grains[1], 0.0);
        // Steps of 10, a variance of 1400 / 9.
        approx::assert_relative_eq!(grains[2], 25.0 * 9.0 / 1400.0, max_relative = 1e-12);
    }

    #[test]
    fn rows_of_unit_length_are_as_coarse_as_their_columns() {
        let x = array![[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]];
        // The mean squared length is 4/3.
        let grains = grains_of(x, 5, Kind::Unit);
        grains
            .iter()
            .for_each(|g| approx::assert_relative_eq!(*g, 3.0 / 16.0, max_relative = 1e-12));
    }

    #[test]
    fn sums_of_columns_are_as_coarse_as_these_if_all_take_two_values() {
        let two = |(i, j): (usize, usize)| f64::from(u8::from((i * i + 3 * i * j) % 7 < 3));
        let x = Array2::from_shape_fn((40, 6), two);
        for g in grains_of(x.clone(), 3, Kind::Standard) {
            approx::assert_relative_eq!(g, 1.0, max_relative = 1e-9);
        }
        let variance = |kind| grains_of(x.clone(), 3, kind).into_iter().sum::<f64>();
        assert!(variance(Kind::Unit) > 0.0 && variance(Kind::Unit) < variance(Kind::Standard));
        let mut three = x.clone();
        three[[5, 2]] = 2.0;
        assert_eq!(grains_of(three, 3, Kind::Standard), [0.0; 3]);
        // A cell filled with the mean of the others is none of the column's values.
        let mut filled = x.clone();
        filled[[5, 2]] = (x.column(2).sum() - x[[5, 2]]) / 39.0;
        assert!(grains_of(filled, 3, Kind::Standard).iter().all(|&g| g > 0.9));
    }

    #[test]
    fn cells_filled_with_the_mean_make_no_column_finer() {
        let answer = |i: usize| f64::from(u8::from(i.is_multiple_of(3)));
        let x = Array2::from_shape_fn((30, 2), |(i, j)| answer(i + j));
        let mut filled = x.clone();
        for (mut column, x) in filled.columns_mut().into_iter().zip(x.columns()) {
            let mean = x.iter().skip(6).sum::<f64>() / 24.0;
            column.iter_mut().take(6).for_each(|x| *x = mean);
        }
        // Their deviation is less, for what was not measured does not deviate.
        let all = grains_of(x, 5, Kind::Standard);
        for (g, all) in grains_of(filled, 5, Kind::Standard).iter().zip(&all) {
            approx::assert_relative_eq!(*g, all * 30.0 / 24.0, max_relative = 1e-9);
        }
    }

    #[test]
    fn constants_and_columns_that_others_explain_do_no_harm() {
        let answer = |i: usize| f64::from(u8::from(i.is_multiple_of(2)));
        let x = Array2::from_shape_fn((8, 3), |(i, j)| [answer(i), 2.0, 3.0 * answer(i)][j]);
        assert_eq!(grains_of(x, 5, Kind::Standard), [1.0]);
    }
}
