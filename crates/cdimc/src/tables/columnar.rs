//! Parquet and Arrow IPC: named columns, of which the numeric ones are the view.

use super::error::Problem;
use super::{ReadOptions, Table, ViewSource};

#[cfg(feature = "columnar")]
pub(super) use with_arrow::{read_arrow, read_arrow_stream, read_parquet};

#[cfg(not(feature = "columnar"))]
pub(super) use without::{read_arrow, read_arrow as read_arrow_stream, read_parquet};

#[cfg(feature = "columnar")]
mod with_arrow {
    use super::super::error::listed;
    use super::super::{hide_missing_numbers, is_missing, stem};
    use super::{Problem, ReadOptions, Table, ViewSource};
    use arrow_array::cast::AsArray;
    use arrow_array::types::Float64Type;
    use arrow_array::{Array, RecordBatch};
    use arrow_schema::{ArrowError, DataType, Schema};
    use ndarray::Array2;
    use std::fs::File;

    /// Reads a Parquet file.
    pub(in super::super) fn read_parquet(
        source: &ViewSource,
        options: &ReadOptions,
    ) -> Result<Table, Problem> {
        let file = File::open(&source.path)?;
        let damaged = |error: &dyn std::fmt::Display| Problem::Damaged {
            format: "Parquet file",
            reason: one_line(error),
        };
        let reader = parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(file)
            .map_err(|e| damaged(&e))?;
        let schema = reader.schema().clone();
        let batches = reader.build().map_err(|e| damaged(&e))?;
        table(source, options, &schema, batches, "Parquet file")
    }

    /// Reads an Arrow IPC file, which is also what Feather version 2 is.
    pub(in super::super) fn read_arrow(
        source: &ViewSource,
        options: &ReadOptions,
    ) -> Result<Table, Problem> {
        let file = File::open(&source.path)?;
        let reader = arrow_ipc::reader::FileReader::try_new_buffered(file, None)
            .map_err(|e| Problem::Damaged { format: "Arrow IPC file", reason: one_line(&e) })?;
        let schema = reader.schema();
        table(source, options, &schema, reader, "Arrow IPC file")
    }

    /// Reads an Arrow IPC stream, which has no index of its batches.
    pub(in super::super) fn read_arrow_stream(
        source: &ViewSource,
        options: &ReadOptions,
    ) -> Result<Table, Problem> {
        let file = File::open(&source.path)?;
        let reader = arrow_ipc::reader::StreamReader::try_new_buffered(file, None)
            .map_err(|e| Problem::Damaged { format: "Arrow IPC stream", reason: one_line(&e) })?;
        let schema = reader.schema();
        table(source, options, &schema, reader, "Arrow IPC stream")
    }

    fn table(
        source: &ViewSource,
        options: &ReadOptions,
        schema: &Schema,
        batches: impl Iterator<Item = Result<RecordBatch, ArrowError>>,
        format: &'static str,
    ) -> Result<Table, Problem> {
        let damaged = |error: &ArrowError| Problem::Damaged { format, reason: one_line(error) };
        let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        let position = |name: &str| names.iter().position(|column| *column == name);
        let index: Vec<usize> = pandas_index(schema).iter().filter_map(|n| position(n)).collect();
        let id = match &options.id {
            Some(id) => Some(position(id).ok_or_else(|| Problem::NoColumn {
                name: id.clone(),
                there: listed(names.iter().copied()),
            })?),
            None => index.first().copied(),
        };
        let label = options.label.as_deref().and_then(position);
        let kept: Vec<usize> = (0..names.len())
            .filter(|j| Some(*j) != id && Some(*j) != label && !index.contains(j))
            .collect();
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
            rows.push(numbers(&batch, &kept).map_err(|e| damaged(&e))?);
        }
        let blocks: Vec<_> = rows.iter().map(Array2::view).collect();
        let mut values = ndarray::concatenate(ndarray::Axis(0), &blocks)
            .unwrap_or_else(|_| Array2::zeros((0, kept.len())));
        hide_missing_numbers(&mut values, options);
        labels.iter_mut().filter(|label| is_missing(label, options)).for_each(String::clear);
        Ok(Table {
            name: stem(&source.path),
            path: source.path.clone(),
            ids: id.map(|_| ids),
            labels: label.map(|_| labels),
            features: kept.iter().map(|&j| names[j].to_owned()).collect(),
            values,
        })
    }

    /// The columns that pandas calls its index and writes like any other; a plain count is not written.
    fn pandas_index(schema: &Schema) -> Vec<String> {
        let about = schema.metadata().get("pandas");
        let about = about.and_then(|text| serde_json::from_str::<serde_json::Value>(text).ok());
        let columns = about.and_then(|about| about["index_columns"].as_array().cloned());
        let name = |column: serde_json::Value| column.as_str().map(str::to_owned);
        columns.unwrap_or_default().into_iter().filter_map(name).collect()
    }

    /// The columns `kept` of a batch as numbers, nulls as NaN.
    fn numbers(batch: &RecordBatch, kept: &[usize]) -> Result<Array2<f64>, ArrowError> {
        let mut values = Array2::from_elem((batch.num_rows(), kept.len()), f64::NAN);
        for (mut target, &j) in values.columns_mut().into_iter().zip(kept) {
            let column = arrow_cast::cast(batch.column(j), &DataType::Float64)?;
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

    fn one_line(error: &dyn std::fmt::Display) -> String {
        error.to_string().lines().next().unwrap_or_default().to_owned()
    }
}

#[cfg(not(feature = "columnar"))]
mod without {
    use super::{Problem, ReadOptions, Table, ViewSource};

    const REASON: &str =
        "this build reads no Parquet or Arrow: build it with the feature `columnar`";

    pub(in super::super) fn read_parquet(
        _: &ViewSource,
        _: &ReadOptions,
    ) -> Result<Table, Problem> {
        Err(Problem::Damaged { format: "Parquet file", reason: REASON.into() })
    }

    pub(in super::super) fn read_arrow(_: &ViewSource, _: &ReadOptions) -> Result<Table, Problem> {
        Err(Problem::Damaged { format: "Arrow IPC file", reason: REASON.into() })
    }
}
