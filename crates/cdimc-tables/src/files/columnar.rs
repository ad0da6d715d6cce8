//! Parquet and Arrow IPC: named columns, of which the numeric ones are the view.

use crate::error::Problem;
use crate::files::format::{Decode, Reader};
use crate::files::{Budget, Found, ReadOptions, ViewSource};

#[cfg(feature = "columnar")]
use with_arrow::{read_arrow, read_parquet};

/// Stands for both where they are not built in.
#[cfg(not(feature = "columnar"))]
fn read_arrow(_: Vec<u8>, _: &Budget, _: &ViewSource, _: &ReadOptions) -> Result<Found, Problem> {
    let reason = "this build reads no Parquet or Arrow: build it with the feature `columnar`";
    Err(Problem::Damaged { format: "Parquet or Arrow file", reason: reason.into() })
}

#[cfg(not(feature = "columnar"))]
use read_arrow as read_parquet;

pub(crate) const PARQUET: Reader = Reader {
    name: "Parquet file",
    known_as: "Parquet",
    endings: &["parquet", "pq"],
    // A text may begin with these letters, but has no zero byte behind them.
    sniff: |head| head.begins(&[b"PAR1"]) && head.has(&[0]),
    holds_one_table: true,
    is_foreign: true,
    decode: Decode::Bytes(read_parquet),
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
    is_foreign: true,
    decode: Decode::Bytes(read_arrow),
};

#[cfg(feature = "columnar")]
mod with_arrow {
    use super::{Budget, Found, Problem, ReadOptions, ViewSource};
    use crate::Table;
    use crate::error::{listed, one_line};
    use crate::files::parquet_types::check_column_types;
    use crate::files::{is_unnamed, stem, warning_of_unnamed};
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Decimal128Type, Decimal256Type, Float64Type};
    use arrow_array::{Array, RecordBatch};
    use arrow_ipc::{MessageHeader, RecordBatch as Layout, root_as_footer, root_as_message};
    use arrow_schema::{ArrowError, DataType, FieldRef, Schema};
    use ndarray::Array2;
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    use parquet::file::metadata::{LevelHistogram, RowGroupMetaData};
    use serde_json::Value;
    use std::io::Cursor;

    /// What follows the table of a file: the length of the footer, and the mark of the format.
    const TRAILER: usize = 10;
    /// What stands before the length of a message.
    const CONTINUATION: [u8; 4] = [0xff; 4];

    /// Reads a Parquet file.
    pub(super) fn read_parquet(
        bytes: Vec<u8>,
        budget: &Budget,
        source: &ViewSource,
        options: &ReadOptions,
    ) -> Result<Found, Problem> {
        let damaged = |error: &dyn std::fmt::Display| Problem::Damaged {
            format: "Parquet file",
            reason: one_line(error),
        };
        let bytes = bytes::Bytes::from(bytes);
        let reader = ParquetRecordBatchReaderBuilder::try_new(bytes.clone());
        let reader = reader.map_err(|e| damaged(&e))?;
        check_column_types(&bytes).map_err(|e| damaged(&e))?;
        let groups = reader.metadata().row_groups();
        // Whether a column has nulls decides where its values begin; some files tell it twice.
        for column in groups.iter().flat_map(RowGroupMetaData::columns) {
            let levels = column.definition_level_histogram().map_or(0, LevelHistogram::len);
            if levels > 0 && levels != column.column_descr().max_def_level() as usize + 1 {
                let name = column.column_descr().name();
                return Err(damaged(&format!("column {name} and its counts of nulls do not fit")));
            }
        }
        let n_rows: i64 = groups.iter().map(|group| group.num_rows().max(0)).sum();
        let said = reader.metadata().file_metadata().num_rows();
        if said != n_rows {
            return Err(damaged(&format!("it says {said} rows, its groups {n_rows}")));
        }
        let n_columns = reader.schema().fields().len();
        // Looked at before anything is unpacked; what is read is taken batch by batch.
        budget.clone().values(&[n_rows as usize, n_columns])?;
        let schema = reader.schema().clone();
        let batches = reader.build().map_err(|e| damaged(&e))?;
        Columns { source, options, budget, format: "Parquet file" }.table(&schema, batches)
    }

    /// Reads an Arrow IPC file, which is also what Feather version 2 is, or a stream.
    pub(super) fn read_arrow(
        bytes: Vec<u8>,
        budget: &Budget,
        source: &ViewSource,
        options: &ReadOptions,
    ) -> Result<Found, Problem> {
        if bytes.starts_with(&CONTINUATION) {
            return read_arrow_stream(bytes, budget, source, options);
        }
        let format = "Arrow IPC file";
        let damaged = |reason| Problem::Damaged { format, reason };
        check_blocks(&bytes, budget).map_err(damaged)?;
        // A file is a stream between two marks, and says its columns at the end and, but where Polars wrote it, at the begin.
        let stream = bytes.get(8..).filter(|stream| stream.starts_with(&CONTINUATION));
        let first = stream
            .map(|stream| arrow_ipc::reader::StreamReader::try_new(Cursor::new(stream), None))
            .transpose()
            .map_err(|e| damaged(one_line(&e)))?;
        let first = first.map(|stream| stream.schema());
        let reader = arrow_ipc::reader::FileReader::try_new(Cursor::new(bytes), None)
            .map_err(|e| damaged(one_line(&e)))?;
        let schema = reader.schema();
        if first.is_some_and(|first| first != schema) {
            return Err(damaged("its columns at the end are not those at the begin".to_owned()));
        }
        Columns { source, options, budget, format }.table(&schema, reader)
    }

    /// Reads an Arrow IPC stream, which has no index of its batches.
    fn read_arrow_stream(
        bytes: Vec<u8>,
        budget: &Budget,
        source: &ViewSource,
        options: &ReadOptions,
    ) -> Result<Found, Problem> {
        let format = "Arrow IPC stream";
        let damaged = |reason| Problem::Damaged { format, reason };
        check_stream(&bytes, budget).map_err(damaged)?;
        let reader = arrow_ipc::reader::StreamReader::try_new(Cursor::new(bytes), None)
            .map_err(|e| damaged(one_line(&e)))?;
        let schema = reader.schema();
        Columns { source, options, budget, format }.table(&schema, reader)
    }

    /// Checks that the blocks that the footer of a file names lie in it, and what they declare.
    fn check_blocks(bytes: &[u8], budget: &Budget) -> Result<(), String> {
        let cut = || "it is cut off".to_owned();
        let (rest, trailer) = bytes.split_last_chunk::<TRAILER>().ok_or_else(cut)?;
        if &trailer[4..] != b"ARROW1" {
            return Err(cut());
        }
        let length = i32::from_le_bytes([trailer[0], trailer[1], trailer[2], trailer[3]]);
        let start = usize::try_from(length).ok().and_then(|n| rest.len().checked_sub(n));
        let footer = rest.get(start.ok_or_else(cut)?..).ok_or_else(cut)?;
        let footer = root_as_footer(footer).map_err(|e| one_line(&e))?;
        for block in
            footer.dictionaries().iter().flatten().chain(footer.recordBatches().iter().flatten())
        {
            let outside = || "a block lies outside the file".to_owned();
            let at = |start: i64, length: i64| {
                let start = usize::try_from(start).ok()?;
                bytes.get(start..start.checked_add(usize::try_from(length).ok()?)?)
            };
            let head = at(block.offset(), block.metaDataLength().into()).ok_or_else(outside)?;
            let body = block.offset().checked_add(block.metaDataLength().into());
            let body = body.and_then(|start| at(start, block.bodyLength())).ok_or_else(outside)?;
            let head = head.strip_prefix(&CONTINUATION).unwrap_or(head);
            let (length, head) = head.split_first_chunk::<4>().ok_or_else(outside)?;
            if usize::try_from(i32::from_le_bytes(*length)) != Ok(head.len()) {
                return Err("a block is not as long as the footer says".to_owned());
            }
            check_message(head, body, budget)?;
        }
        Ok(())
    }

    /// Checks what the messages of a stream declare, one after the other.
    fn check_stream(bytes: &[u8], budget: &Budget) -> Result<(), String> {
        let mut rest = bytes;
        while let Some(after) = rest.strip_prefix(&CONTINUATION) {
            let cut = || "it is cut off".to_owned();
            let (length, after) = after.split_first_chunk::<4>().ok_or_else(cut)?;
            let length = usize::try_from(i32::from_le_bytes(*length)).map_err(|_| cut())?;
            if length == 0 {
                break;
            }
            let (head, after) = after.split_at_checked(length).ok_or_else(cut)?;
            let message = root_as_message(head).map_err(|e| one_line(&e))?;
            let n_bytes = usize::try_from(message.bodyLength()).map_err(|_| cut())?;
            let (body, after) = after.split_at_checked(n_bytes).ok_or_else(cut)?;
            check_message(head, body, budget)?;
            rest = after;
        }
        Ok(())
    }

    /// Checks that the buffers of a batch lie in its body and unpack to no more than the budget.
    fn check_message(head: &[u8], body: &[u8], budget: &Budget) -> Result<(), String> {
        let message = root_as_message(head).map_err(|e| one_line(&e))?;
        let batch = match message.header_type() {
            MessageHeader::RecordBatch => message.header_as_record_batch(),
            MessageHeader::DictionaryBatch => {
                message.header_as_dictionary_batch().and_then(|dictionary| dictionary.data())
            }
            _ => return Ok(()),
        };
        let Some(batch) = batch else { return Err("a batch has no content".to_owned()) };
        let n_rows = usize::try_from(batch.length()).map_err(|_| "a batch of less than no rows")?;
        for node in batch.nodes().iter().flatten() {
            if !(0..=node.length()).contains(&node.null_count()) {
                return Err(format!("{} of {} values are nulls", node.null_count(), node.length()));
            }
        }
        // Columns of nulls have no buffers: only the budget bounds their length.
        budget.clone().values(&[n_rows])?;
        check_buffers(batch, body, budget)
    }

    fn check_buffers(batch: Layout<'_>, body: &[u8], budget: &Budget) -> Result<(), String> {
        for buffer in batch.buffers().iter().flatten() {
            let (offset, length) =
                (usize::try_from(buffer.offset()), usize::try_from(buffer.length()));
            let content = match (offset, length) {
                // The format puts every buffer at a multiple of 8 bytes.
                (Ok(offset), Ok(length)) if offset % 8 == 0 => {
                    offset.checked_add(length).and_then(|end| body.get(offset..end))
                }
                _ => None,
            };
            let content =
                content.ok_or("a buffer lies outside its batch, or not where one may lie")?;
            if batch.compression().is_none() {
                continue;
            }
            // A packed buffer begins with the length of what it holds, or -1 where it is not packed.
            if let Some(length) = content.first_chunk::<8>()
                && let length @ 0.. = i64::from_le_bytes(*length)
            {
                budget.bytes(length as u64)?;
            }
        }
        Ok(())
    }

    /// How the columns of a file become a table.
    struct Columns<'a> {
        source: &'a ViewSource,
        options: &'a ReadOptions,
        budget: &'a Budget,
        format: &'static str,
    }

    impl Columns<'_> {
        fn table(
            &self,
            schema: &Schema,
            batches: impl Iterator<Item = Result<RecordBatch, ArrowError>>,
        ) -> Result<Found, Problem> {
            let &Self { source, options, budget, format } = self;
            let damaged = |error: &ArrowError| Problem::Damaged { format, reason: one_line(error) };
            let names: Vec<&str> =
                schema.fields().iter().map(|field| field.name().as_str()).collect();
            options.check_named(&names)?;
            let position = |name: &str| names.iter().position(|column| *column == name);
            let index: Vec<usize> =
                pandas_index(schema).iter().filter_map(|n| position(n)).collect();
            let id = match &options.id {
                Some(id) => Some(position(id).ok_or_else(|| Problem::NoColumn {
                    name: id.clone(),
                    there: listed(&names),
                })?),
                None => {
                    let is_id = |field: &FieldRef| {
                        is_unnamed(field.name()) && !field.data_type().is_floating()
                    };
                    let first = schema.fields().first().is_some_and(is_id).then_some(0);
                    index.first().copied().or(first)
                }
            };
            let range = if id.is_none() { pandas_range(schema) } else { None };
            let label = options.label.as_deref().and_then(position);
            let (unnamed, named): (Vec<usize>, Vec<usize>) = (0..names.len())
                .filter(|j| Some(*j) != id && Some(*j) != label && !index.contains(j))
                .partition(|&j| is_unnamed(names[j]));
            // No program writes such a column: what named it is damaged.
            if let Some(j) = unnamed.iter().find(|&&j| names[j].is_empty()) {
                let reason = format!("column {} has no name", j + 1);
                return Err(Problem::Damaged { format, reason });
            }
            let kept: Vec<usize> = named.into_iter().filter(|&j| options.takes(names[j])).collect();
            for &j in &kept {
                let kind = schema.field(j).data_type();
                let stored = match kind {
                    DataType::Dictionary(_, value) => value.as_ref(),
                    kind => kind,
                };
                if !(stored.is_numeric() || matches!(stored, DataType::Boolean | DataType::Null)) {
                    let column = names[j].to_owned();
                    return Err(Problem::ColumnType { column, kind: kind.to_string() });
                }
            }
            let (mut rows, mut ids, mut labels) = (Vec::new(), Vec::new(), Vec::new());
            for batch in batches {
                let batch = batch.map_err(|e| damaged(&e))?;
                for (column, names) in [(id, &mut ids), (label, &mut labels)] {
                    if let Some(column) = column {
                        names.extend(texts(batch.column(column)).map_err(|e| damaged(&e))?);
                    }
                }
                budget.values(&[batch.num_rows(), kept.len()])?;
                rows.push(numbers(&batch, &kept).map_err(|e| damaged(&e))?);
            }
            let blocks: Vec<_> = rows.iter().map(Array2::view).collect();
            let values = ndarray::concatenate(ndarray::Axis(0), &blocks)
                .unwrap_or_else(|_| Array2::zeros((0, kept.len())));
            if let Some((start, step)) = range {
                let n_rows = i64::try_from(values.nrows()).unwrap_or(i64::MAX);
                let nth = |i: i64| start.wrapping_add(step.wrapping_mul(i));
                ids = (0..n_rows).map(|i| nth(i).to_string()).collect();
            }
            let table = Table {
                ids: (id.is_some() || range.is_some()).then_some(ids),
                labels: label.map(|_| labels),
                features: kept.iter().map(|&j| names[j].to_owned()).collect(),
                left_out: options.dropped(&names),
                ..Table::of(&stem(&source.path), &source.path, values)
            };
            let warnings = warning_of_unnamed(&unnamed).into_iter().collect();
            Ok(Found { tables: vec![table], warnings })
        }
    }

    /// What pandas says of its index.
    fn pandas(schema: &Schema) -> Vec<Value> {
        let about = schema.metadata().get("pandas");
        let about = about.and_then(|text| serde_json::from_str::<Value>(text).ok());
        about.and_then(|about| about["index_columns"].as_array().cloned()).unwrap_or_default()
    }

    /// The columns that pandas calls its index and writes like any other.
    fn pandas_index(schema: &Schema) -> Vec<String> {
        let name = |column: Value| column.as_str().map(str::to_owned);
        pandas(schema).into_iter().filter_map(name).collect()
    }

    /// The first number and the step of an index that is a range, which has no column: rows cut out of a table keep
    /// their numbers. `None` of a plain count, which names nothing.
    fn pandas_range(schema: &Schema) -> Option<(i64, i64)> {
        let range = pandas(schema).into_iter().find(|index| index["kind"] == "range")?;
        let (start, step) = (range["start"].as_i64()?, range["step"].as_i64()?);
        ((start, step) != (0, 1)).then_some((start, step))
    }

    /// The columns `kept` of a batch as numbers, nulls as NaN.
    fn numbers(batch: &RecordBatch, kept: &[usize]) -> Result<Array2<f64>, ArrowError> {
        let mut values = Array2::from_elem((batch.num_rows(), kept.len()), f64::NAN);
        for (mut target, &j) in values.columns_mut().into_iter().zip(kept) {
            let column = batch.column(j);
            // A decimal of more digits than its type has room for is damaged.
            match *column.data_type() {
                DataType::Decimal128(digits, _) => {
                    column.as_primitive::<Decimal128Type>().validate_decimal_precision(digits)?;
                }
                DataType::Decimal256(digits, _) => {
                    column.as_primitive::<Decimal256Type>().validate_decimal_precision(digits)?;
                }
                _ => {}
            }
            let column = arrow_cast::cast(column, &DataType::Float64)?;
            let column = column.as_primitive::<Float64Type>();
            for (row, target) in target.iter_mut().enumerate() {
                if column.is_valid(row) {
                    *target = column.value(row);
                }
            }
        }
        Ok(values)
    }

    /// A column as text, nulls as nothing.
    fn texts(column: &dyn Array) -> Result<Vec<String>, ArrowError> {
        let column = arrow_cast::cast(column, &DataType::Utf8)?;
        let column = column.as_string::<i32>();
        Ok(column.iter().map(|text| text.unwrap_or_default().to_owned()).collect())
    }
}

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
    fn rows_cut_out_of_a_pandas_frame_keep_their_numbers() {
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
    fn a_file_whose_schema_stands_in_its_footer_alone_is_read() {
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
