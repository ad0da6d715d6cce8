//! Reads one NumPy array: its header, checked against its bytes, and its values.

use crate::error::{Problem, ensure};
use crate::files::Budget;
use ndarray::{Array2, ShapeBuilder};
use npyz::{DType, NpyFile, Order, TypeChar};

/// Largest depth of brackets in a header; a matrix has two, records of arrays four.
const MAX_BRACKET_DEPTH: usize = 4;

pub(super) enum Content {
    Matrix(Array2<f64>),
    /// A vector of names or whole numbers, as text.
    Names(Vec<String>),
}

/// Reads the header of an array. Headers with deeper brackets are an error, since each level multiplies the time of the
/// header's parser.
pub(super) fn opened(bytes: &[u8]) -> Result<NpyFile<&[u8]>, Problem> {
    let (mut depth, mut deepest) = (0_usize, 0);
    for byte in bytes.iter().take(header_length(bytes)).skip(10) {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    let is_flat = deepest <= MAX_BRACKET_DEPTH;
    ensure!(is_flat, else damaged("NumPy array", &format!("brackets {deepest} deep in its header")));
    NpyFile::new(bytes).map_err(|e| damaged("NumPy array", &e))
}

/// Returns the content of an array. With `is_vector`, a matrix counts as a vector, as MATLAB writes them.
pub(super) fn content(
    name: &str,
    bytes: &[u8],
    budget: &Budget,
    is_vector: bool,
) -> Result<Content, Problem> {
    let (file, shape) = checked(name, bytes, budget)?;
    let DType::Plain(element) = file.dtype() else { unreachable!("the element was checked") };
    let order = file.order();
    let kind = element.to_string();
    let (type_char, size) = (element.type_char(), element.size_field());
    let (name_of, dimensions) = (|| name.to_owned(), shape.len());
    ensure!(matches!(dimensions, 1 | 2), else Problem::NotAMatrix { name: name_of(), dimensions });
    let is_vector = is_vector || shape.len() == 1;
    if matches!(type_char, TypeChar::UnicodeStr | TypeChar::ByteStr) {
        ensure!(is_vector, else Problem::ElementType { name: name_of(), kind });
        return Ok(Content::Names(values(file)?));
    }
    // 64-bit integers keep all digits as ids, and are rounded as features.
    let numbers = match (type_char, size) {
        (TypeChar::Int, 8) if is_vector => return Ok(words(&values::<i64>(file)?)),
        (TypeChar::Uint, 8) if is_vector => return Ok(words(&values::<u64>(file)?)),
        _ => numbers(file, name)?,
    };
    let shape = match shape[..] {
        [n_rows, n_columns] if !is_vector => (n_rows, n_columns).set_f(order == Order::Fortran),
        _ => return Ok(words(&numbers)),
    };
    let matrix = Array2::from_shape_vec(shape, numbers).map_err(|e| damaged("NumPy array", &e))?;
    Ok(Content::Matrix(matrix.as_standard_layout().into_owned()))
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
        let kind = "record or array".into();
        return Err(Problem::ElementType { name: name.to_owned(), kind });
    };
    // Pickled objects have any number of bytes.
    if matches!(element.type_char(), TypeChar::Object) {
        let kind = "Python object (astype(str) or astype(float) makes others of them)".into();
        return Err(Problem::ElementType { name: name.to_owned(), kind });
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
            return Err(damaged("NumPy array", &reason));
        }
    }
    budget.values(&shape)?;
    Ok((file, shape))
}

/// Returns the numbers of an array, in the order of the file.
pub(super) fn numbers(file: NpyFile<&[u8]>, name: &str) -> Result<Vec<f64>, Problem> {
    let DType::Plain(element) = file.dtype() else { unreachable!("the element was checked") };
    match (element.type_char(), element.size_field()) {
        (TypeChar::Float, 8) => values(file),
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
        _ => Err(Problem::ElementType { name: name.to_owned(), kind: element.to_string() }),
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

fn words<T: ToString>(values: &[T]) -> Content {
    Content::Names(values.iter().map(ToString::to_string).collect())
}

pub(super) fn values<T: npyz::Deserialize>(file: NpyFile<&[u8]>) -> Result<Vec<T>, Problem> {
    file.into_vec().map_err(|e| damaged("NumPy array", &e))
}

fn widened<T: npyz::Deserialize + Into<f64>>(file: NpyFile<&[u8]>) -> Result<Vec<f64>, Problem> {
    Ok(values::<T>(file)?.into_iter().map(Into::into).collect())
}

pub(super) fn damaged(format: &'static str, reason: &impl ToString) -> Problem {
    Problem::Damaged { format, reason: reason.to_string() }
}
