//! NumPy's NPY and NPZ: a matrix of samples and features, ids beside it.
//!
//! An NPY file has no room for ids: they are looked for in a text file of the same name that ends in
//! `.ids.txt`, one id a line. An NPZ archive may hold them as an array.

use super::error::{Problem, listed};
use super::{ReadOptions, Table, ViewSource, hide_missing_numbers, numbered, stem};
use ndarray::{Array2, ShapeBuilder};
use npyz::{DType, NpyFile, Order, TypeChar};
use std::fs::File;
use std::io::{BufReader, Read};

/// What an array of a file holds.
enum Content {
    Matrix(Array2<f64>),
    /// A vector of names or whole numbers, as text.
    Names(Vec<String>),
}

/// Reads one matrix, with the ids of `NAME.ids.txt` beside `NAME.npy` if there is one.
pub(super) fn read_npy(source: &ViewSource, options: &ReadOptions) -> Result<Table, Problem> {
    let file = File::open(&source.path)?;
    let n_bytes = file.metadata()?.len();
    let name = stem(&source.path);
    let values = match content(&name, BufReader::new(file), n_bytes)? {
        Content::Matrix(values) => values,
        Content::Names(_) => return Err(Problem::NotAMatrix { name, dimensions: 1 }),
    };
    let beside = source.path.with_file_name(format!("{name}.ids.txt"));
    let ids = if beside.is_file() {
        let text = std::fs::read_to_string(beside)?;
        Some(text.lines().map(|line| line.trim().to_owned()).collect())
    } else {
        None
    };
    Ok(table(source, name, values, ids, None, options))
}

/// Reads every matrix of an archive, or the member asked for; `--id` and `--label` name vectors in it.
pub(super) fn read_npz(source: &ViewSource, options: &ReadOptions) -> Result<Vec<Table>, Problem> {
    let mut archive =
        npyz::npz::NpzArchive::open(&source.path).map_err(|e| damaged("NumPy archive", &e))?;
    let mut names: Vec<String> = archive.array_names().map(str::to_owned).collect();
    names.sort();
    let there = || listed(names.iter().map(String::as_str));
    let ids_name = options.id.clone().unwrap_or_else(|| "ids".to_owned());
    let (mut matrices, mut vectors) = (Vec::new(), std::collections::HashMap::new());
    for name in &names {
        let asked = [&source.member, &options.id, &options.label].into_iter().flatten();
        let asked = asked.chain([&ids_name]).any(|asked| asked == name);
        if !asked && source.member.is_some() {
            continue;
        }
        let n_bytes = archive
            .zip_archive()
            .by_name(&npyz::npz::file_name_from_array_name(name))
            .map_or(0, |entry| entry.size());
        let Some(file) = archive.by_name(name).map_err(|e| damaged("NumPy archive", &e))? else {
            continue;
        };
        // A single number or a stack of matrices is no view but something beside them.
        if !asked && file.shape().len() != 2 {
            continue;
        }
        match content_of(name, file, n_bytes)? {
            Content::Matrix(values) => matrices.push((name.clone(), values)),
            Content::Names(vector) => {
                vectors.insert(name.clone(), vector);
            }
        }
    }
    if let Some(member) = &source.member {
        if !names.contains(member) {
            return Err(Problem::NoMember { name: member.clone(), there: there() });
        }
        matrices.retain(|(name, _)| name == member);
    }
    if matrices.is_empty() {
        return Err(Problem::NoMatrix { there: there() });
    }
    let ids = match &options.id {
        Some(id) => Some(
            vectors
                .get(id)
                .cloned()
                .ok_or_else(|| Problem::NoMember { name: id.clone(), there: there() })?,
        ),
        None => vectors.get(&ids_name).cloned(),
    };
    let labels = options.label.as_ref().and_then(|label| vectors.get(label).cloned());
    let table = |(name, values)| table(source, name, values, ids.clone(), labels.clone(), options);
    Ok(matrices.into_iter().map(table).collect())
}

fn table(
    source: &ViewSource,
    name: String,
    mut values: Array2<f64>,
    ids: Option<Vec<String>>,
    labels: Option<Vec<String>>,
    options: &ReadOptions,
) -> Table {
    hide_missing_numbers(&mut values, options);
    let features = numbered(values.ncols());
    Table { name, path: source.path.clone(), ids, labels, features, values }
}

fn content(name: &str, reader: impl Read, n_bytes: u64) -> Result<Content, Problem> {
    content_of(name, NpyFile::new(reader).map_err(|e| damaged("NumPy array", &e))?, n_bytes)
}

fn content_of<R: Read>(name: &str, file: NpyFile<R>, n_bytes: u64) -> Result<Content, Problem> {
    let shape: Vec<usize> = file.shape().iter().map(|&n| n as usize).collect();
    let DType::Plain(element) = file.dtype() else {
        let kind = "record or array".into();
        return Err(Problem::ElementType { name: name.to_owned(), kind });
    };
    // A damaged header may claim any length: nothing is set aside for more than the file holds.
    let claimed =
        shape.iter().try_fold(element.size_field().max(1), |n, &m| n.checked_mul(m as u64));
    let in_bytes = if element.type_char() == TypeChar::UnicodeStr { 4 } else { 1 };
    if claimed.and_then(|n| n.checked_mul(in_bytes)).is_none_or(|n| n > n_bytes) {
        let reason = format!("it claims shape {shape:?}, more than its {n_bytes} bytes hold");
        return Err(Problem::Damaged { format: "NumPy array", reason });
    }
    let order = file.order();
    let kind = element.to_string();
    let text = matches!(element.type_char(), TypeChar::UnicodeStr | TypeChar::ByteStr);
    if text {
        return match shape.len() {
            1 => Ok(Content::Names(values(file)?)),
            _ => Err(Problem::ElementType { name: name.to_owned(), kind }),
        };
    }
    let numbers: Vec<f64> = match (element.type_char(), element.size_field()) {
        (TypeChar::Float, 8) => values(file)?,
        (TypeChar::Float, 4) => widened::<f32, R>(file)?,
        (TypeChar::Int, 1) => widened::<i8, R>(file)?,
        (TypeChar::Int, 2) => widened::<i16, R>(file)?,
        (TypeChar::Int, 4) => widened::<i32, R>(file)?,
        (TypeChar::Int, 8) => values::<i64, R>(file)?.into_iter().map(|x| x as f64).collect(),
        (TypeChar::Uint, 1) => widened::<u8, R>(file)?,
        (TypeChar::Uint, 2) => widened::<u16, R>(file)?,
        (TypeChar::Uint, 4) => widened::<u32, R>(file)?,
        (TypeChar::Uint, 8) => values::<u64, R>(file)?.into_iter().map(|x| x as f64).collect(),
        (TypeChar::Bool, _) => values::<bool, R>(file)?.into_iter().map(f64::from).collect(),
        _ => return Err(Problem::ElementType { name: name.to_owned(), kind }),
    };
    match shape[..] {
        [_] => Ok(Content::Names(numbers.iter().map(ToString::to_string).collect())),
        [n_rows, n_columns] => {
            let shape = (n_rows, n_columns).set_f(order == Order::Fortran);
            let matrix = Array2::from_shape_vec(shape, numbers).map_err(|error| {
                Problem::Damaged { format: "NumPy array", reason: error.to_string() }
            })?;
            Ok(Content::Matrix(matrix.as_standard_layout().into_owned()))
        }
        _ => Err(Problem::NotAMatrix { name: name.to_owned(), dimensions: shape.len() }),
    }
}

fn values<T: npyz::Deserialize, R: Read>(file: NpyFile<R>) -> Result<Vec<T>, Problem> {
    file.into_vec().map_err(|e| damaged("NumPy array", &e))
}

fn widened<T: npyz::Deserialize + Into<f64>, R: Read>(
    file: NpyFile<R>,
) -> Result<Vec<f64>, Problem> {
    Ok(values::<T, R>(file)?.into_iter().map(Into::into).collect())
}

fn damaged(format: &'static str, error: &std::io::Error) -> Problem {
    Problem::Damaged { format, reason: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::super::read_views;
    use super::*;
    use ndarray::array;
    use npyz::WriterBuilder;

    fn npy_bytes(values: &[f64], shape: &[u64], order: Order) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut writer = npyz::WriteOptions::new()
            .default_dtype()
            .shape(shape)
            .order(order)
            .writer(&mut bytes)
            .begin_nd()
            .unwrap();
        writer.extend(values.iter().copied()).unwrap();
        writer.finish().unwrap();
        bytes
    }

    fn read_bytes(bytes: &[u8], ids: Option<&str>) -> Result<Table, super::super::TableError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("protein.npy");
        std::fs::write(&path, bytes).unwrap();
        if let Some(ids) = ids {
            std::fs::write(folder.path().join("protein.ids.txt"), ids).unwrap();
        }
        let source = ViewSource { name: None, path, member: None };
        read_views(&source, &ReadOptions::default()).map(|mut tables| tables.remove(0))
    }

    #[test]
    fn both_memory_orders_give_the_same_matrix() {
        let c = read_bytes(&npy_bytes(&[1., 2., 3., 4.], &[2, 2], Order::C), None).unwrap();
        let f = read_bytes(&npy_bytes(&[1., 3., 2., 4.], &[2, 2], Order::Fortran), None).unwrap();
        assert_eq!(c.values, array![[1., 2.], [3., 4.]]);
        assert_eq!(c.values, f.values);
    }

    #[test]
    fn ids_stand_in_a_file_beside_it() {
        let bytes = npy_bytes(&[1., 2.], &[2, 1], Order::C);
        assert_eq!(read_bytes(&bytes, Some("a\nb\n")).unwrap().ids.unwrap(), ["a", "b"]);
        let message = read_bytes(&bytes, Some("a\n")).unwrap_err().to_string();
        assert!(message.ends_with("1 ids for 2 rows: one id is needed for each row"), "{message}");
    }

    #[test]
    #[allow(clippy::default_trait_access)] // The options of an archive are of a crate we do not name.
    fn what_is_no_matrix_in_an_archive_is_passed_over_unless_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("omics.npz");
        let mut archive = npyz::npz::NpzWriter::create(&path).unwrap();
        let shapes: [(&str, &[u64]); 4] =
            [("a", &[2, 2]), ("ids", &[2]), ("k", &[]), ("stack", &[2, 1, 2])];
        for (name, shape) in shapes {
            let options = archive.array::<f64>(name, Default::default()).unwrap();
            let mut writer = options.default_dtype().shape(shape).begin_nd().unwrap();
            writer.extend((0..shape.iter().product()).map(|x| x as f64)).unwrap();
            writer.finish().unwrap();
        }
        drop(archive);
        let read = |member: Option<&str>| {
            let source =
                ViewSource { name: None, path: path.clone(), member: member.map(str::to_owned) };
            read_views(&source, &ReadOptions::default())
        };
        let [table] = <[Table; 1]>::try_from(read(None).unwrap()).unwrap();
        assert_eq!((table.name.as_str(), table.ids.unwrap()), ("a", vec!["0".into(), "1".into()]));
        let message = read(Some("stack")).unwrap_err().to_string();
        assert!(message.contains("`stack` has 3 dimensions"), "{message}");
    }

    #[test]
    fn a_truncated_array_is_an_error() {
        let bytes = npy_bytes(&[1.; 64], &[8, 8], Order::C);
        for end in [3, 20, 90, bytes.len() - 1] {
            assert!(read_bytes(&bytes[..end], None).is_err());
        }
    }
}
