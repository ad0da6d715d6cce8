//! Reads Parquet and Arrow IPC with the crates of Arrow.

use super::parquet_types::check_column_types;
use crate::Table;
use crate::error::{Flaw, Problem, ensure};
use crate::files::format::Request;
use crate::files::options::Role;
use crate::files::{Budget, Decoded, is_unnamed, warning_of_unnamed};
use crate::option_names::line_of_names;
use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Decimal256Type, Float64Type};
use arrow_array::{Array, RecordBatch};
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_ipc::{MessageHeader, root_as_footer, root_as_message};
use arrow_schema::{ArrowError, DataType, FieldRef, Schema};
use ndarray::Array2;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::metadata::{LevelHistogram, RowGroupMetaData};
use serde_json::Value;
use std::io::Cursor;

/// Bytes after the footer of a file: its length, and the mark of the format.
const TRAILER_BYTES: usize = 10;
/// Mark before the length of a message.
const CONTINUATION: [u8; 4] = [0xff; 4];

pub(super) fn read_parquet(bytes: Vec<u8>, request: Request<'_>) -> Result<Decoded, Problem> {
    let bytes = bytes::Bytes::from(bytes);
    let reader = ParquetRecordBatchReaderBuilder::try_new(bytes.clone()).map_err(Flaw::from)?;
    check_column_types(&bytes).map_err(Flaw)?;
    let groups = reader.metadata().row_groups();
    // Whether a column has nulls determines where its values begin; some files declare it twice.
    for column in groups.iter().flat_map(RowGroupMetaData::columns) {
        let levels = column.definition_level_histogram().map_or(0, LevelHistogram::len);
        if levels > 0 && levels != column.column_descr().max_def_level() as usize + 1 {
            let name = column.column_descr().name();
            let reason = format!("column {name} and its counts of nulls do not fit");
            return Err(Flaw(reason).into());
        }
    }
    let n_rows: i64 = groups.iter().map(|group| group.num_rows().max(0)).sum();
    let declared = reader.metadata().file_metadata().num_rows();
    if declared != n_rows {
        return Err(Flaw(format!("it declares {declared} rows, its groups have {n_rows}")).into());
    }
    let n_columns = reader.schema().fields().len();
    // Checked before decompression; batches take from the budget later.
    request.budget.clone().values(&[n_rows as usize, n_columns])?;
    let schema = reader.schema().clone();
    let batches = reader.build().map_err(Flaw::from)?;
    table(&schema, batches, request)
}

/// Reads an Arrow IPC file (Feather version 2) or stream.
pub(super) fn read_arrow(bytes: Vec<u8>, request: Request<'_>) -> Result<Decoded, Problem> {
    if bytes.starts_with(&CONTINUATION) {
        check_stream(&bytes, request.budget)?;
        let reader = StreamReader::try_new(Cursor::new(bytes), None).map_err(Flaw::from)?;
        return table(&reader.schema(), reader, request);
    }
    check_blocks(&bytes, request.budget)?;
    // A file is a stream between two marks. Its schema is at the end and, unless Polars wrote it, also at the
    // beginning.
    let stream = bytes.get(8..).filter(|stream| stream.starts_with(&CONTINUATION));
    let first = stream.map(|stream| StreamReader::try_new(Cursor::new(stream), None)).transpose();
    let first = first.map_err(Flaw::from)?.map(|stream| stream.schema());
    let reader = FileReader::try_new(Cursor::new(bytes), None).map_err(Flaw::from)?;
    let schema = reader.schema();
    if first.is_some_and(|first| first != schema) {
        let reason = "its schema at the end differs from the one at the beginning";
        return Err(Flaw::from(reason).into());
    }
    table(&schema, reader, request)
}

/// Checks that the blocks named in the footer lie in the file, and checks their messages.
fn check_blocks(bytes: &[u8], budget: &Budget) -> Result<(), Flaw> {
    let cut = || Flaw::from("it is cut off");
    let (rest, trailer) = bytes.split_last_chunk::<TRAILER_BYTES>().ok_or_else(cut)?;
    ensure!(&trailer[4..] == b"ARROW1", else cut());
    let length = i32::from_le_bytes([trailer[0], trailer[1], trailer[2], trailer[3]]);
    let start = usize::try_from(length).ok().and_then(|n| rest.len().checked_sub(n));
    let footer = rest.get(start.ok_or_else(cut)?..).ok_or_else(cut)?;
    let footer = root_as_footer(footer)?;
    for block in
        footer.dictionaries().iter().flatten().chain(footer.recordBatches().iter().flatten())
    {
        let outside = || Flaw::from("a block lies outside the file");
        let at = |start: i64, length: i64| {
            let start = usize::try_from(start).ok()?;
            bytes.get(start..start.checked_add(usize::try_from(length).ok()?)?)
        };
        let head = at(block.offset(), block.metaDataLength().into()).ok_or_else(outside)?;
        let body = block.offset().checked_add(block.metaDataLength().into());
        let body = body.and_then(|start| at(start, block.bodyLength())).ok_or_else(outside)?;
        let head = head.strip_prefix(&CONTINUATION).unwrap_or(head);
        let (length, head) = head.split_first_chunk::<4>().ok_or_else(outside)?;
        let is_whole = usize::try_from(i32::from_le_bytes(*length)) == Ok(head.len());
        ensure!(is_whole, "a block has another length than the footer declares");
        check_message(head, body, budget)?;
    }
    Ok(())
}

fn check_stream(bytes: &[u8], budget: &Budget) -> Result<(), Flaw> {
    let mut rest = bytes;
    while let Some(after) = rest.strip_prefix(&CONTINUATION) {
        let cut = || Flaw::from("it is cut off");
        let (length, after) = after.split_first_chunk::<4>().ok_or_else(cut)?;
        let length = usize::try_from(i32::from_le_bytes(*length)).map_err(|_| cut())?;
        if length == 0 {
            break;
        }
        let (head, after) = after.split_at_checked(length).ok_or_else(cut)?;
        let message = root_as_message(head)?;
        let n_bytes = usize::try_from(message.bodyLength()).map_err(|_| cut())?;
        let (body, after) = after.split_at_checked(n_bytes).ok_or_else(cut)?;
        check_message(head, body, budget)?;
        rest = after;
    }
    Ok(())
}

/// Checks that the buffers of a batch lie in its body and decompress within the budget.
fn check_message(head: &[u8], body: &[u8], budget: &Budget) -> Result<(), Flaw> {
    let message = root_as_message(head)?;
    let batch = match message.header_type() {
        MessageHeader::RecordBatch => message.header_as_record_batch(),
        MessageHeader::DictionaryBatch => {
            message.header_as_dictionary_batch().and_then(|dictionary| dictionary.data())
        }
        _ => return Ok(()),
    };
    let Some(batch) = batch else { return Err("a batch has no content".into()) };
    let n_rows =
        usize::try_from(batch.length()).map_err(|_| "a batch with a negative number of rows")?;
    for node in batch.nodes().iter().flatten() {
        let (nulls, n) = (node.null_count(), node.length());
        ensure!((0..=n).contains(&nulls), "{nulls} of {n} values are nulls");
    }
    // Columns of nulls have no buffers: only the budget limits their length.
    budget.clone().values(&[n_rows])?;
    for buffer in batch.buffers().iter().flatten() {
        let (offset, length) = (usize::try_from(buffer.offset()), usize::try_from(buffer.length()));
        let content = match (offset, length) {
            // Every buffer begins at a multiple of 8 bytes.
            (Ok(offset), Ok(length)) if offset % 8 == 0 => {
                offset.checked_add(length).and_then(|end| body.get(offset..end))
            }
            _ => None,
        };
        let content = content.ok_or("a buffer lies outside its batch or is not aligned")?;
        // A compressed buffer begins with its decompressed length, or -1 if it is not compressed.
        if batch.compression().is_some()
            && let Some(length) = content.first_chunk::<8>()
            && let length @ 0.. = i64::from_le_bytes(*length)
        {
            budget.bytes(length as u64)?;
        }
    }
    Ok(())
}

fn table(
    schema: &Schema,
    batches: impl Iterator<Item = Result<RecordBatch, ArrowError>>,
    Request { source, options, budget }: Request<'_>,
) -> Result<Decoded, Problem> {
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    let pandas = pandas_index(schema);
    let place = |name: &str| names.iter().position(|column| *column == name);
    let index: Vec<usize> = pandas.iter().filter_map(Value::as_str).filter_map(place).collect();
    let is_id = |field: &FieldRef| is_unnamed(field.name()) && !field.data_type().is_floating();
    let first = schema.fields().first().is_some_and(is_id).then_some(0);
    let mut roles = options.roles(&names, index.first().copied().or(first))?;
    for j in index {
        if roles[j] == Role::Feature || roles[j] == Role::Unnamed {
            roles[j] = Role::LeftOut;
        }
    }
    let with = |role: Role| (0..names.len()).filter(|&j| roles[j] == role).collect::<Vec<usize>>();
    let [id, label] = [Role::Id, Role::Label].map(|role| with(role).pop());
    let (kept, unnamed) = (with(Role::Feature), with(Role::Unnamed));
    let range = if id.is_none() { range(&pandas) } else { None };
    // No program writes a column without a name: the name is damaged.
    let is_of_samples = |j: usize| matches!(roles[j], Role::Id | Role::Label);
    if let Some(j) = (0..names.len()).find(|&j| names[j].is_empty() && !is_of_samples(j)) {
        return Err(Flaw(format!("column {} has no name", j + 1)).into());
    }
    for &j in &kept {
        let kind = schema.field(j).data_type();
        let stored = match kind {
            DataType::Dictionary(_, value) => value.as_ref(),
            kind => kind,
        };
        ensure!(
            stored.is_numeric() || matches!(stored, DataType::Boolean | DataType::Null),
            "column `{}` is of type {kind}: only numbers can be clustered on; leave it out with --drop '{}', or name it with \
             --id or --label",
            names[j],
            line_of_names(&[names[j]])
        );
    }
    let (mut rows, mut ids, mut labels) = (Vec::new(), Vec::new(), Vec::new());
    for batch in batches {
        let batch = batch.map_err(Flaw::from)?;
        for (column, names) in [(id, &mut ids), (label, &mut labels)] {
            if let Some(column) = column {
                names.extend(texts(batch.column(column)).map_err(Flaw::from)?);
            }
        }
        budget.values(&[batch.num_rows(), kept.len()])?;
        rows.push(numbers(&batch, &kept).map_err(Flaw::from)?);
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
        ..Table::new(&source.stem(), values)
    };
    let warnings = warning_of_unnamed(&unnamed).into_iter().collect();
    Ok(Decoded { tables: vec![table], warnings })
}

/// Returns the columns and ranges that pandas uses as index.
fn pandas_index(schema: &Schema) -> Vec<Value> {
    let about = schema.metadata().get("pandas");
    let about = about.and_then(|text| serde_json::from_str::<Value>(text).ok());
    about.and_then(|about| about["index_columns"].as_array().cloned()).unwrap_or_default()
}

/// Returns start and step of an index that is a range, as rows selected from a table have. Returns `None` for a plain
/// count, which names nothing.
fn range(index: &[Value]) -> Option<(i64, i64)> {
    let range = index.iter().find(|index| index["kind"] == "range")?;
    let (start, step) = (range["start"].as_i64()?, range["step"].as_i64()?);
    ((start, step) != (0, 1)).then_some((start, step))
}

/// Returns the columns `kept` of a batch as numbers, nulls as NaN.
fn numbers(batch: &RecordBatch, kept: &[usize]) -> Result<Array2<f64>, ArrowError> {
    let mut values = Array2::from_elem((batch.num_rows(), kept.len()), f64::NAN);
    for (mut target, &j) in values.columns_mut().into_iter().zip(kept) {
        let column = batch.column(j);
        // A decimal with more digits than its type allows is damaged.
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

/// Returns a column as text, nulls as empty strings.
fn texts(column: &dyn Array) -> Result<Vec<String>, ArrowError> {
    let column = arrow_cast::cast(column, &DataType::Utf8)?;
    let column = column.as_string::<i32>();
    Ok(column.iter().map(|text| text.unwrap_or_default().to_owned()).collect())
}
