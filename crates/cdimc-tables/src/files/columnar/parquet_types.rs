//! Checks the column types of a Parquet file, which are in its schema and again in every row group.
//!
//! The decoder uses the schema only and would read bytes of one type as another. The footer is a struct of Thrift's
//! compact protocol.

use crate::error::ensure;

/// Largest nesting of structs and lists.
const MAX_DEPTH: usize = 32;

/// Checks that all row groups store the columns in the types of the schema.
pub(crate) fn check_column_types(bytes: &[u8]) -> Result<(), String> {
    let (schema, stored) = physical_types(bytes).ok_or("its footer is cut off")?;
    for (column, kind) in stored.iter().flat_map(|group| (0..).zip(group)) {
        let is_same = schema.get(column) == Some(kind);
        let number = column + 1;
        ensure!(is_same, "column {number} has one type in the schema and another in a row group");
    }
    Ok(())
}

/// Returns the types of the columns, by their numbers in the format, in the schema and in every row group. Returns
/// `None` if the footer ends early.
fn physical_types(file: &[u8]) -> Option<(Vec<i64>, Vec<Vec<i64>>)> {
    let (rest, trailer) = file.split_last_chunk::<8>()?;
    let length = u32::from_le_bytes(*trailer.first_chunk()?);
    let start = rest.len().checked_sub(usize::try_from(length).ok()?)?;
    let footer = Value::read(&mut &rest[start..], STRUCT, 0)?;
    // FileMetaData.schema and row_groups; only elements of the schema that are columns have a type.
    let schema =
        footer.list(2).iter().filter_map(|element| element.field(1)?.as_number()).collect();
    let of_group = |group: &Value| {
        // RowGroup.columns, and ColumnChunk.meta_data of each.
        let chunks = group.list(1).iter().filter_map(|chunk| chunk.field(3));
        chunks.filter_map(|chunk| chunk.field(1)?.as_number()).collect()
    };
    Some((schema, footer.list(4).iter().map(of_group).collect()))
}

/// The kind of a struct in the protocol.
const STRUCT: u8 = 12;

/// A value of the compact protocol; the footer has no maps.
enum Value {
    Number(i64),
    List(Vec<Value>),
    /// The fields of a struct with their numbers.
    Fields(Vec<(i64, Value)>),
    Other,
}

impl Value {
    fn field(&self, id: i64) -> Option<&Self> {
        let Self::Fields(fields) = self else { return None };
        fields.iter().find(|(of, _)| *of == id).map(|(_, value)| value)
    }

    fn as_number(&self) -> Option<i64> {
        if let Self::Number(number) = self { Some(*number) } else { None }
    }

    fn list(&self, id: i64) -> &[Self] {
        if let Some(Self::List(values)) = self.field(id) { values } else { &[] }
    }

    /// Reads a value of this kind; `None` at the end of the bytes.
    fn read(rest: &mut &[u8], kind: u8, depth: usize) -> Option<Self> {
        if depth > MAX_DEPTH {
            return None;
        }
        let skipped = match kind {
            // The kind of a boolean field is its value.
            1 | 2 => 0,
            3 => 1,
            4..=6 => {
                // The sign is the lowest bit.
                let number = unsigned(rest)?;
                return Some(Self::Number((number >> 1) as i64 ^ -((number & 1) as i64)));
            }
            7 => 8,
            8 => unsigned(rest)?,
            9 | 10 => {
                let head = byte(rest)?;
                let n = if head >> 4 == 15 { unsigned(rest)? } else { (head >> 4).into() };
                let mut values = Vec::new();
                for _ in 0..n {
                    // A boolean in a list takes a byte.
                    let kind = if matches!(head & 0xf, 1 | 2) { 3 } else { head & 0xf };
                    values.push(Self::read(rest, kind, depth + 1)?);
                }
                return Some(Self::List(values));
            }
            STRUCT => {
                let (mut fields, mut id) = (Vec::new(), 0_i64);
                loop {
                    let head = byte(rest)?;
                    let (step, kind) = (head >> 4, head & 0xf);
                    if kind == 0 {
                        return Some(Self::Fields(fields));
                    }
                    id = match step {
                        0 => Self::read(rest, 4, depth)?.as_number()?,
                        step => id.checked_add(step.into())?,
                    };
                    fields.push((id, Self::read(rest, kind, depth + 1)?));
                }
            }
            _ => return None,
        };
        *rest = rest.get(usize::try_from(skipped).ok()?..)?;
        Some(Self::Other)
    }
}

fn byte(rest: &mut &[u8]) -> Option<u8> {
    rest.split_off_first().copied()
}

fn unsigned(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = byte(rest)?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{ArrayRef, Float64Array, Int32Array, RecordBatch, StringArray};
    use parquet::arrow::ArrowWriter;
    use std::sync::Arc;

    /// Returns a file of two row groups with three columns.
    fn file() -> Vec<u8> {
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["s0", "s1", "s2"]));
        let numbers: ArrayRef = Arc::new(Float64Array::from(vec![0.5, 1.5, f64::NAN]));
        let counts: ArrayRef = Arc::new(Int32Array::from(vec![1, 2, 3]));
        let columns = [("id", texts), ("a", numbers), ("b", counts)];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.flush().unwrap();
        writer.write(&batch).unwrap();
        writer.into_inner().unwrap()
    }

    #[test]
    fn a_type_that_the_row_groups_do_not_have_is_refused() {
        let file = file();
        let (schema, stored) = physical_types(&file).unwrap();
        // BYTE_ARRAY, DOUBLE, INT32.
        assert_eq!((schema, stored), (vec![6, 5, 1], vec![vec![6, 5, 1], vec![6, 5, 1]]));
        assert_eq!(check_column_types(&file), Ok(()));
        // The type of column `a` in the schema, before its repetition and its name: FLOAT instead of DOUBLE.
        let at = file.windows(7).position(|w| w == [0x15, 0x0a, 0x25, 0x00, 0x18, 0x01, b'a']);
        let mut changed = file.clone();
        changed[at.unwrap() + 1] = 0x08;
        let error = check_column_types(&changed).unwrap_err();
        assert!(error.starts_with("column 2 has one type in the schema"), "{error}");
    }

    #[test]
    fn no_truncated_footer_causes_a_panic() {
        let file = file();
        let (footer, trailer) = file.split_last_chunk::<8>().unwrap();
        for cut in 0..footer.len() {
            let _ = check_column_types(&[&footer[cut..], trailer].concat());
            let _ = check_column_types(&[&footer[..cut], trailer].concat());
        }
        let deep = [0x19, 0x1c].repeat(100);
        let length = (deep.len() as u32).to_le_bytes();
        assert!(check_column_types(&[&deep[..], &length, b"PAR1"].concat()).is_err());
    }
}
