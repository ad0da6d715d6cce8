//! Checks the column types of a Parquet file, which are in its schema and again in every row group.
//!
//! The decoder uses the schema only and would read bytes of one type as another. The footer is a struct of Thrift's
//! compact protocol.

/// Largest nesting of structs and lists.
const MAX_DEPTH: usize = 32;
/// Kinds of values in the protocol.
const STOP: u8 = 0;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// Checks that all row groups store the columns in the types of the schema.
pub(crate) fn check_column_types(bytes: &[u8]) -> Result<(), String> {
    let Footer { schema, stored } = Footer::of(bytes).ok_or("its footer is cut off")?;
    for (column, kind) in stored.iter().flat_map(|group| group.iter().enumerate()) {
        if schema.get(column) != Some(kind) {
            return Err(format!(
                "column {} has one type in the schema and another in a row group",
                column + 1
            ));
        }
    }
    Ok(())
}

/// Physical types of the columns, by their numbers in the format.
#[derive(Default)]
struct Footer {
    schema: Vec<i64>,
    /// Types in every row group.
    stored: Vec<Vec<i64>>,
}

impl Footer {
    /// Parses the footer of a file; `None` if it ends early.
    fn of(file: &[u8]) -> Option<Self> {
        let (rest, trailer) = file.split_last_chunk::<8>()?;
        let length = u32::from_le_bytes(*trailer.first_chunk()?);
        let start = rest.len().checked_sub(usize::try_from(length).ok()?)?;
        let (mut compact, mut footer) = (Compact { rest: &rest[start..] }, Self::default());
        compact.fields(|id, kind, compact| match (id, kind) {
            // FileMetaData.schema; only elements that are columns have a type.
            (2, LIST) => compact.structs(|compact| compact.type_of_struct(&mut footer.schema)),
            // FileMetaData.row_groups.
            (4, LIST) => compact.structs(|compact| {
                let mut group = Vec::new();
                // RowGroup.columns, and ColumnChunk.meta_data of each.
                compact.fields(|id, kind, compact| match (id, kind) {
                    (1, LIST) => compact.structs(|compact| {
                        compact.fields(|id, kind, compact| match (id, kind) {
                            (3, STRUCT) => compact.type_of_struct(&mut group),
                            _ => compact.skip(kind, 0),
                        })
                    }),
                    _ => compact.skip(kind, 0),
                })?;
                footer.stored.push(group);
                Some(())
            }),
            _ => compact.skip(kind, 0),
        })?;
        Some(footer)
    }
}

/// Unread bytes in the compact protocol; every method returns `None` at the end.
struct Compact<'a> {
    rest: &'a [u8],
}

impl Compact<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn pass(&mut self, n: u64) -> Option<()> {
        self.rest = self.rest.get(usize::try_from(n).ok()?..)?;
        Some(())
    }

    fn unsigned(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    /// Reads a number whose sign is its lowest bit.
    fn signed(&mut self) -> Option<i64> {
        let value = self.unsigned()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// Calls `read` with the number and kind of each field of a struct; it must consume the value.
    fn fields(&mut self, mut read: impl FnMut(i64, u8, &mut Self) -> Option<()>) -> Option<()> {
        let mut id = 0_i64;
        loop {
            let head = self.byte()?;
            let (step, kind) = (head >> 4, head & 0xf);
            if kind == STOP {
                return Some(());
            }
            id = if step == 0 { self.signed()? } else { id.checked_add(step.into())? };
            read(id, kind, self)?;
        }
    }

    /// Reads the number and kind of a list's elements.
    fn list(&mut self) -> Option<(u64, u8)> {
        let head = self.byte()?;
        let n = if head >> 4 == 15 { self.unsigned()? } else { (head >> 4).into() };
        Some((n, head & 0xf))
    }

    /// Calls `read` for each element of a list of structs.
    fn structs(&mut self, mut read: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        let (n, kind) = self.list()?;
        if kind != STRUCT {
            return None;
        }
        (0..n).try_for_each(|_| read(self))
    }

    /// Skips a struct and adds its first field, if that is a type, to `types`.
    fn type_of_struct(&mut self, types: &mut Vec<i64>) -> Option<()> {
        self.fields(|id, kind, compact| {
            if id == 1 && (4..=6).contains(&kind) {
                types.push(compact.signed()?);
                return Some(());
            }
            compact.skip(kind, 0)
        })
    }

    /// Skips a value of this kind; the footer has no maps.
    fn skip(&mut self, kind: u8, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        match kind {
            // The kind of a boolean field is its value.
            1 | 2 => Some(()),
            3 => self.pass(1),
            4..=6 => self.unsigned().map(drop),
            7 => self.pass(8),
            8 => {
                let n = self.unsigned()?;
                self.pass(n)
            }
            9 | 10 => {
                let (n, kind) = self.list()?;
                (0..n).try_for_each(|_| self.skip_element(kind, depth))
            }
            12 => self.fields(|_, kind, compact| compact.skip(kind, depth + 1)),
            13 => self.pass(16),
            _ => None,
        }
    }

    /// Skips an element of a list, in which a boolean takes a byte.
    fn skip_element(&mut self, kind: u8, depth: usize) -> Option<()> {
        if kind == 1 || kind == 2 { self.pass(1) } else { self.skip(kind, depth + 1) }
    }
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
        let Footer { schema, stored } = Footer::of(&file).unwrap();
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
