//! Reads one NumPy array: its header, checked against its bytes, and its values.

use crate::error::{Flaw, Problem, ensure, not_a_matrix, not_read};
use crate::files::{Budget, as_texts};
use ndarray::{Array2, ShapeBuilder};
use npyz::{DType, NpyFile, Order, TypeChar};

/// Largest depth of brackets in a header; a matrix has two, records of arrays four.
const MAX_BRACKET_DEPTH: usize = 4;

/// Reads the header of an array. Headers with deeper brackets are an error, since each level multiplies the time of the
/// header's parser.
pub(super) fn opened(bytes: &[u8]) -> Result<NpyFile<&[u8]>, Flaw> {
    let (mut depth, mut deepest) = (0_usize, 0);
    for byte in bytes.iter().take(header_length(bytes)).skip(10) {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    ensure!(deepest <= MAX_BRACKET_DEPTH, "brackets {deepest} deep in its header");
    Ok(NpyFile::new(bytes)?)
}

/// Returns the values of a vector as text. A matrix counts as a vector, as MATLAB writes them.
pub(super) fn vector(name: &str, bytes: &[u8], budget: &Budget) -> Result<Vec<String>, Problem> {
    let (file, shape) = checked(name, bytes, budget)?;
    ensure!(matches!(shape.len(), 1 | 2), else not_a_matrix(name, shape.len()).into());
    let DType::Plain(element) = file.dtype() else { unreachable!("the element was checked") };
    // 64-bit integers keep all digits.
    Ok(match (element.type_char(), element.size_field()) {
        (TypeChar::UnicodeStr | TypeChar::ByteStr, _) => values(file)?,
        (TypeChar::Int, 8) => as_texts(&values::<i64>(file)?),
        (TypeChar::Uint, 8) => as_texts(&values::<u64>(file)?),
        _ => as_texts(&numbers(file, name)?),
    })
}

/// Returns a matrix of numbers; 64-bit integers are rounded.
pub(super) fn matrix(name: &str, bytes: &[u8], budget: &Budget) -> Result<Array2<f64>, Problem> {
    let (file, shape) = checked(name, bytes, budget)?;
    let [n_rows, n_columns] = shape[..] else {
        return Err(not_a_matrix(name, shape.len()).into());
    };
    let shape = (n_rows, n_columns).set_f(file.order() == Order::Fortran);
    let matrix = Array2::from_shape_vec(shape, numbers(file, name)?).map_err(Flaw::from)?;
    Ok(matrix.as_standard_layout().into_owned())
}

/// Reads the header of an array and its shape, which fits the file's length and the budget.
pub(super) fn checked<'a>(
    name: &str,
    bytes: &'a [u8],
    budget: &Budget,
) -> Result<(NpyFile<&'a [u8]>, Vec<usize>), Problem> {
    let file = opened(bytes)?;
    let shape: Vec<usize> =
        file.shape().iter().map(|&n| usize::try_from(n).unwrap_or(usize::MAX)).collect();
    let DType::Plain(element) = file.dtype() else {
        return Err(not_read(name, "record or array").into());
    };
    // Pickled objects have any number of bytes.
    if matches!(element.type_char(), TypeChar::Object) {
        let kind = "Python object (astype(str) or astype(float) makes others of them)";
        return Err(not_read(name, kind).into());
    }
    // A damaged header may declare any length.
    let claimed =
        shape.iter().try_fold(element.size_field().max(1), |n, &m| n.checked_mul(m as u64));
    let in_bytes = if element.type_char() == TypeChar::UnicodeStr { 4 } else { 1 };
    let n_bytes = bytes.len().saturating_sub(header_length(bytes)) as u64;
    match claimed.and_then(|n| n.checked_mul(in_bytes)) {
        Some(n) if n == n_bytes => {}
        claimed => {
            // Accepting it would lose rows or a second array.
            let than = if claimed.is_some_and(|n| n < n_bytes) { "less" } else { "more" };
            let reason = format!("it claims shape {shape:?}, {than} than its {n_bytes} bytes hold");
            return Err(Flaw(reason).into());
        }
    }
    budget.values(&shape)?;
    Ok((file, shape))
}

/// Returns the numbers of an array, in the order of the file.
pub(super) fn numbers(file: NpyFile<&[u8]>, name: &str) -> Result<Vec<f64>, Problem> {
    let DType::Plain(element) = file.dtype() else { unreachable!("the element was checked") };
    match (element.type_char(), element.size_field()) {
        (TypeChar::Float, 8) => Ok(values(file)?),
        (TypeChar::Float, 4) => widened::<f32>(file),
        (TypeChar::Int, 1) => widened::<i8>(file),
        (TypeChar::Int, 2) => widened::<i16>(file),
        (TypeChar::Int, 4) => widened::<i32>(file),
        (TypeChar::Int, 8) => Ok(values::<i64>(file)?.into_iter().map(|x| x as f64).collect()),
        (TypeChar::Uint, 1) => widened::<u8>(file),
        (TypeChar::Uint, 2) => widened::<u16>(file),
        (TypeChar::Uint, 4) => widened::<u32>(file),
        (TypeChar::Uint, 8) => Ok(values::<u64>(file)?.into_iter().map(|x| x as f64).collect()),
        (TypeChar::Bool, _) => Ok(values::<bool>(file)?.into_iter().map(f64::from).collect()),
        _ => Err(not_read(name, &element.to_string()).into()),
    }
}

/// Returns where the values of an array begin. The header's length has two bytes, since version 2 four.
fn header_length(bytes: &[u8]) -> usize {
    match *bytes {
        [_, _, _, _, _, _, 1, _, a, b, ..] => 10 + usize::from(u16::from_le_bytes([a, b])),
        [_, _, _, _, _, _, _, _, a, b, c, d, ..] => 12 + u32::from_le_bytes([a, b, c, d]) as usize,
        _ => bytes.len(),
    }
}

pub(super) fn values<T: npyz::Deserialize>(file: NpyFile<&[u8]>) -> Result<Vec<T>, Flaw> {
    Ok(file.into_vec()?)
}

fn widened<T: npyz::Deserialize + Into<f64>>(file: NpyFile<&[u8]>) -> Result<Vec<f64>, Problem> {
    Ok(values::<T>(file)?.into_iter().map(Into::into).collect())
}
