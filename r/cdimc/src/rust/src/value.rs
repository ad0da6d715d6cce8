//! Conversion between R's values and JSON, and of arrays to R's matrices.

use extendr_api::prelude::*;
use ndarray::Array2;
use serde_json::{Map, Number, Value};

/// Converts an R value to JSON: a single value to a scalar, a named list to an object, NA and NULL to null. Whole numbers
/// become integers, whatever their type in R.
///
/// # Errors
/// If the value has a type that settings never have.
pub(crate) fn to_json(value: &Robj) -> std::result::Result<Value, String> {
    let scalar_or_array = |mut values: Vec<Value>| match values.len() {
        1 => values.remove(0),
        _ => Value::Array(values),
    };
    match value.rtype() {
        Rtype::Null => Ok(Value::Null),
        Rtype::Logicals => {
            let values = value.as_logical_slice().unwrap_or_default();
            let json = |x: &Rbool| if x.is_na() { Value::Null } else { x.is_true().into() };
            Ok(scalar_or_array(values.iter().map(json).collect()))
        }
        Rtype::Integers => {
            let values = value.as_integer_slice().unwrap_or_default();
            let json = |&x: &i32| if x == i32::MIN { Value::Null } else { x.into() };
            Ok(scalar_or_array(values.iter().map(json).collect()))
        }
        Rtype::Doubles => {
            let values = value.as_real_slice().unwrap_or_default();
            Ok(scalar_or_array(values.iter().map(|&x| number(x)).collect()))
        }
        Rtype::Strings => {
            let values = value.as_string_vector().unwrap_or_default();
            Ok(scalar_or_array(values.into_iter().map(Value::String).collect()))
        }
        Rtype::List => {
            let list = value.as_list().unwrap_or_default();
            match value.names() {
                None => list.values().map(|x| to_json(&x)).collect(),
                Some(_) => {
                    let entry = |(name, x): (&str, Robj)| Ok((name.to_owned(), to_json(&x)?));
                    list.iter()
                        .map(entry)
                        .collect::<std::result::Result<Map<_, _>, _>>()
                        .map(Value::Object)
                }
            }
        }
        other => Err(format!("type = {other:?}: must be numbers, text, or TRUE and FALSE")),
    }
}

/// Converts JSON to an R value; null becomes NULL, an array of numbers a vector with NA for null.
pub(crate) fn from_json(value: &Value) -> Robj {
    match value {
        Value::Null => NULL.into(),
        Value::Bool(x) => (*x).into(),
        Value::Number(x) => x.as_f64().into(),
        Value::String(x) => x.as_str().into(),
        Value::Array(values) => {
            let is_number = |x: &Value| x.is_number() || x.is_null();
            if values.iter().any(Value::is_number) && values.iter().all(is_number) {
                Doubles::from_values(
                    values.iter().map(|x| x.as_f64().map_or(Rfloat::na(), Rfloat::from)),
                )
                .into()
            } else if !values.is_empty() && values.iter().all(Value::is_string) {
                let texts: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
                texts.into()
            } else {
                List::from_values(values.iter().map(from_json)).into()
            }
        }
        Value::Object(entries) => {
            List::from_pairs(entries.iter().map(|(name, x)| (name.as_str(), from_json(x)))).into()
        }
    }
}

/// Returns the value, or NULL if there is none.
pub(crate) fn or_null(value: Option<impl Into<Robj>>) -> Robj {
    value.map_or_else(|| NULL.into(), Into::into)
}

/// Converts `(n_samples, n_features)` to a matrix.
pub(crate) fn matrix(values: &Array2<f64>) -> Robj {
    let (rows, columns) = values.dim();
    RMatrix::new_matrix(rows, columns, |i, j| values[[i, j]]).into()
}

/// Converts a table of text to a list of columns by name.
pub(crate) fn text_columns(header: &[&str], rows: &[Vec<String>]) -> List {
    let columns = header.iter().enumerate().map(|(j, &name)| {
        let cells: Vec<&str> = rows.iter().map(|row| row[j].as_str()).collect();
        (name, Robj::from(cells))
    });
    List::from_pairs(columns)
}

/// Converts labels or counts to R's integers.
pub(crate) fn integers(values: &[usize]) -> Robj {
    Integers::from_values(values.iter().map(|&x| x as i32)).into()
}

fn number(x: f64) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0; // 2^53
    if x.fract() == 0.0 && x.abs() <= EXACT {
        Value::from(x as i64)
    } else {
        Number::from_f64(x).map_or(Value::Null, Value::Number)
    }
}
