//! Reads Parquet and Arrow IPC: named columns; numeric ones are features.

#[cfg(feature = "columnar")]
mod arrow;
#[cfg(feature = "columnar")]
mod parquet_types;

use crate::files::format::{Decode, Reader};
#[cfg(feature = "columnar")]
use arrow::{read_arrow, read_parquet};

/// Replaces both readers if they are not built in.
#[cfg(not(feature = "columnar"))]
fn read_arrow(
    _: Vec<u8>,
    _: crate::files::format::Request<'_>,
) -> Result<crate::files::Decoded, crate::error::Problem> {
    let reason = "this build reads no Parquet or Arrow: build it with the feature `columnar`";
    Err(crate::error::Flaw::from(reason).into())
}
#[cfg(not(feature = "columnar"))]
use read_arrow as read_parquet;

pub(crate) const PARQUET: Reader = Reader {
    name: "Parquet file",
    known_as: "Parquet",
    endings: &["parquet", "pq"],
    // A text may begin with these letters, but has no zero byte.
    sniff: |head| head.begins(&[b"PAR1"]) && head.has(&[0]),
    holds_one_table: true,
    decode: Decode::Foreign(read_parquet),
};

/// Files and streams.
pub(crate) const ARROW: Reader = Reader {
    name: "Arrow IPC file",
    known_as: "Arrow",
    endings: &["feather", "arrow", "arrows", "ipc"],
    sniff: |head| {
        head.begins(&[b"\xff\xff\xff\xff"]) || (head.begins(&[b"ARROW1"]) && head.has(&[0]))
    },
    holds_one_table: true,
    decode: Decode::Foreign(read_arrow),
};

#[cfg(test)]
#[cfg(feature = "columnar")]
mod tests {
    use crate::testing::read;
    use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch};
    use std::collections::HashMap;
    use std::sync::Arc;

    fn values() -> ArrayRef {
        Arc::new(Float64Array::from(vec![0.5, 1.5]))
    }

    fn stream(batch: &RecordBatch) -> Vec<u8> {
        let mut writer =
            arrow_ipc::writer::StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
        writer.write(batch).unwrap();
        writer.into_inner().unwrap()
    }

    #[test]
    fn rows_selected_from_a_pandas_frame_keep_their_numbers() {
        // A plain count names nothing.
        for (start, step, ids) in [(10, 1, "10 11"), (9, -1, "9 8"), (0, 1, "-")] {
            let about = format!(
                r#"{{"index_columns": [{{"kind": "range", "name": null, "start": {start}, "stop": 99, "step": {step}}}]}}"#
            );
            let batch = RecordBatch::try_from_iter([("a", values())]).unwrap();
            let schema = batch.schema().as_ref().clone();
            let schema = schema.with_metadata(HashMap::from([("pandas".to_owned(), about)]));
            let bytes = stream(&batch.with_schema(Arc::new(schema)).unwrap());
            let expected = format!("t | {ids} | - | a | 0.5; 1.5");
            assert_eq!(read("t.arrows", bytes, "").unwrap(), expected);
        }
    }

    #[test]
    fn a_file_with_a_schema_only_in_its_footer_is_read() {
        let batch = RecordBatch::try_from_iter([("a", values())]).unwrap();
        let mut writer =
            arrow_ipc::writer::FileWriter::try_new(Vec::new(), &batch.schema()).unwrap();
        writer.write(&batch).unwrap();
        let mut bytes = writer.into_inner().unwrap();
        // Polars writes the message without the eight bytes before it.
        let length = u32::from_le_bytes(*bytes[12..].first_chunk().unwrap()) as usize;
        bytes.copy_within(16..16 + length, 8);
        bytes[8 + length..16 + length].fill(0);
        assert_eq!(read("t.arrow", bytes, "").unwrap(), "t | - | - | a | 0.5; 1.5");
    }

    #[test]
    fn a_column_without_a_name_is_never_a_feature() {
        let rows: ArrayRef = Arc::new(Int64Array::from(vec![7, 8]));
        let patients: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
        let columns = [("Unnamed: 0", rows), ("patient", patients), ("a", values())];
        let bytes = stream(&RecordBatch::try_from_iter(columns).unwrap());
        for (options, expected) in [
            ("", "t | 7 8 | - | patient/a | 1 0.5; 2 1.5"),
            ("id=patient", "t | 1 2 | - | a | 0.5; 1.5"),
        ] {
            assert_eq!(read("t.arrows", bytes.clone(), options).unwrap(), expected);
        }
    }
}
