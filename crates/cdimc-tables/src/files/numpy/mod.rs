//! NumPy's NPY and NPZ: a matrix of samples and features, ids beside it.
//!
//! An NPY file has no room for ids: they are looked for in a text file of the same name that ends in
//! `.ids.txt`, one id a line. An NPZ archive may hold them as an array.

mod array;

use self::array::{Content, claimed_shape, content, damaged, numbers, opened, values};
use crate::Table;
use crate::error::{Problem, listed};
use crate::files::sparse::Compressed;
use crate::files::{Budget, ReadOptions, ViewSource, stem};
use cdimc_data::{Matrix, Sparse};
use ndarray::Array2;
use std::io::{Cursor, Read};

type Archive<'a> = npyz::npz::NpzArchive<Cursor<&'a [u8]>>;

/// Reads one matrix, with the ids of `NAME.ids.txt` beside `NAME.npy` if there is one.
pub(crate) fn read_npy(
    bytes: &[u8],
    budget: &Budget,
    source: &ViewSource,
) -> Result<Table, Problem> {
    let name = stem(&source.path);
    let values = match content(&name, bytes, budget, false)? {
        Content::Matrix(values) => values,
        Content::Names(_) => return Err(Problem::NotAMatrix { name, dimensions: 1 }),
    };
    let ids = ids_beside(source, &name)?;
    Ok(table(source, name, values.into(), ids, None))
}

/// The lines of `NAME.ids.txt`, if there is one.
fn ids_beside(source: &ViewSource, name: &str) -> Result<Option<Vec<String>>, Problem> {
    let beside = source.path.with_file_name(format!("{name}.ids.txt"));
    // A broken link is there, too, and is not the same as no ids.
    if beside.symlink_metadata().is_ok() {
        let flaw = |reason: &dyn std::fmt::Display| {
            Problem::Message(format!("its ids in {}: {reason}", beside.display()))
        };
        if beside.exists() && !beside.is_file() {
            return Err(flaw(&"is no plain file"));
        }
        let text = std::fs::read_to_string(&beside).map_err(|e| flaw(&e))?;
        // The byte order mark would otherwise become part of the first id.
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        Ok(Some(text.lines().map(|line| line.trim().to_owned()).collect()))
    } else {
        Ok(None)
    }
}

/// The members of an archive that `save_npz` of `SciPy` writes for compressed rows or columns.
const SPARSE: [&str; 5] = ["data", "format", "indices", "indptr", "shape"];

/// Reads every matrix of an archive, or the member asked for; `--id` and `--label` name vectors in it.
pub(crate) fn read_npz(
    bytes: &[u8],
    budget: &Budget,
    source: &ViewSource,
    options: &ReadOptions,
) -> Result<Vec<Table>, Problem> {
    let mut archive =
        npyz::npz::NpzArchive::new(Cursor::new(bytes)).map_err(|e| damaged("NumPy archive", &e))?;
    check_names(&mut archive, bytes)?;
    let mut names: Vec<String> = archive.array_names().map(str::to_owned).collect();
    names.sort();
    if source.member.is_none() && SPARSE.iter().all(|part| names.iter().any(|name| name == part)) {
        let name = stem(&source.path);
        let values = sparse(&mut archive, &name, budget)?;
        let ids = ids_beside(source, &name)?;
        return Ok(vec![table(source, name, values.into(), ids, None)]);
    }
    let there = || listed(names.iter().map(String::as_str));
    let ids_name = options.id.clone().unwrap_or_else(|| "ids".to_owned());
    let (mut matrices, mut vectors) = (Vec::new(), std::collections::HashMap::new());
    for name in &names {
        let is_vector = *name == ids_name || options.label.as_ref() == Some(name);
        let asked = is_vector || source.member.as_ref() == Some(name);
        if !asked && source.member.is_some() {
            continue;
        }
        let member = member(&mut archive, name, budget)?;
        // A number, a row or column, or a stack of matrices is no view but something beside them.
        let is_matrix = matches!(opened(&member)?.shape(), [n, m] if *n > 1 && *m > 1);
        if !(asked || is_matrix) {
            continue;
        }
        match content(name, &member, budget, is_vector)? {
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
        if ["format", "data", "shape"].iter().all(|part| names.iter().any(|name| name == part)) {
            // As `save_npz` writes a matrix of coordinates, diagonals or blocks.
            sparse(&mut archive, &stem(&source.path), budget)?;
        }
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
    let table = |(name, values): (String, Array2<f64>)| {
        table(source, name, values.into(), ids.clone(), labels.clone())
    };
    Ok(matrices.into_iter().map(table).collect())
}

fn table(
    source: &ViewSource,
    name: String,
    values: Matrix,
    ids: Option<Vec<String>>,
    labels: Option<Vec<String>>,
) -> Table {
    let path = source.path.clone();
    Table { name, path, ids, labels, features: Vec::new(), left_out: Vec::new(), values }
}

/// The sparse matrix that is an archive of `SciPy`.
fn sparse(archive: &mut Archive<'_>, name: &str, budget: &Budget) -> Result<Sparse, Problem> {
    let format = member(archive, "format", budget)?;
    let file = opened(&format)?;
    claimed_shape(&file, &format, "format", budget)?;
    let format = values::<String>(file)?.join(" ");
    if !["csr", "csc"].contains(&format.as_str()) {
        let reason = format!(
            "a sparse matrix of format `{format}`, while `csr` and `csc` are read: save it with \
             scipy.sparse.save_npz(FILE, X.tocsr())"
        );
        return Err(Problem::Damaged { format: "NumPy archive", reason });
    }
    let mut vector = |part: &str| -> Result<Vec<f64>, Problem> {
        let bytes = member(archive, part, budget)?;
        let file = opened(&bytes)?;
        claimed_shape(&file, &bytes, part, budget)?;
        numbers(file, part)
    };
    // What is no whole number becomes one that is in no matrix.
    let whole = |x: f64| if x >= 0.0 && x.fract() == 0.0 { x as usize } else { usize::MAX };
    let shape: Vec<usize> = vector("shape")?.into_iter().map(whole).collect();
    let shape = <[usize; 2]>::try_from(shape)
        .map_err(|shape| Problem::NotAMatrix { name: name.to_owned(), dimensions: shape.len() })?;
    let starts = vector("indptr")?.into_iter().map(whole).collect();
    let places = vector("indices")?.into_iter().map(whole).collect();
    let (by_column, entries) = (format == "csc", vector("data")?);
    let parts = Compressed { shape, by_column, starts, places, entries };
    parts.read(name, budget).map_err(Problem::Message)
}

/// Checks that no two members share a name, that each has the same name where it stands as in the directory, and that the
/// directory ends with the last of them.
fn check_names(archive: &mut Archive<'_>, bytes: &[u8]) -> Result<(), Problem> {
    let flaw = |reason: String| Problem::Damaged { format: "NumPy archive", reason };
    let zip = archive.zip_archive();
    let mut seen = std::collections::HashSet::new();
    let n_members = zip.len();
    for index in 0..n_members {
        let entry = zip.by_index_raw(index).map_err(|e| flaw(e.to_string()))?;
        let name = entry.name_raw();
        let shown = String::from_utf8_lossy(name);
        // The length of the name stands 26 bytes into the header of a member, the name behind its 30.
        let here = usize::try_from(entry.header_start()).ok().and_then(|at| bytes.get(at..));
        let length = here.and_then(|here| here.get(26..28));
        let length = length.map_or(0, |two| usize::from(u16::from_le_bytes([two[0], two[1]])));
        if here.and_then(|here| here.get(30..30 + length)) != Some(name) {
            return Err(flaw(format!("member `{shown}` has another name where it stands")));
        }
        if !seen.insert(name.to_vec()) {
            return Err(flaw(format!("two members are named `{shown}`")));
        }
        // The lengths of name, extra field and comment stand 28 bytes into the directory's entry, and they behind its 46.
        let entry = usize::try_from(entry.central_header_start()).ok();
        let entry = entry.and_then(|at| bytes.get(at..)).unwrap_or_default();
        let lengths = entry.get(28..34).unwrap_or_default().chunks_exact(2);
        let length: usize =
            lengths.map(|two| usize::from(u16::from_le_bytes([two[0], two[1]]))).sum();
        let is_last = index + 1 == n_members;
        if is_last && entry.get(46 + length..).is_some_and(|rest| rest.starts_with(b"PK\x01\x02")) {
            return Err(flaw(format!(
                "its directory has more than the {n_members} members it counts"
            )));
        }
    }
    Ok(())
}

/// The bytes of an array of an archive, all of them, so that its checksum is compared.
fn member(archive: &mut Archive<'_>, name: &str, budget: &Budget) -> Result<Vec<u8>, Problem> {
    let flaw = |reason: &dyn std::fmt::Display| Problem::Damaged {
        format: "NumPy archive",
        reason: format!("member `{name}`: {reason}"),
    };
    let file_name = npyz::npz::file_name_from_array_name(name);
    let entry = archive.zip_archive().by_name(&file_name).map_err(|e| flaw(&e))?;
    let promised = entry.size();
    budget.bytes(promised).map_err(|reason| flaw(&reason))?;
    let mut bytes = Vec::new();
    // The end has to be seen for the checksum; what goes on beyond the promise is not read.
    let found =
        entry.take(promised.saturating_add(1)).read_to_end(&mut bytes).map_err(|e| flaw(&e))?;
    if found as u64 != promised {
        return Err(flaw(&format!("{promised} bytes promised, {found} found")));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::read_views;
    use ndarray::array;
    use npyz::{DType, Order, WriterBuilder, zip::write::FileOptions};

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

    fn read_bytes(bytes: &[u8], ids: Option<&str>) -> Result<Table, crate::TableError> {
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
    fn a_header_of_nested_brackets_is_refused_at_once() {
        let text = format!("{{'descr': '<f4',{}\n", "{".repeat(200));
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((text.len() as u16).to_le_bytes());
        bytes.extend(text.as_bytes());
        let message = read_bytes(&bytes, None).unwrap_err().to_string();
        assert!(message.contains("brackets 201 deep in its header"), "{message}");
    }

    #[test]
    fn objects_of_python_are_refused_as_such() {
        let text = "{'descr': '|O', 'fortran_order': False, 'shape': (2,), }\n";
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((text.len() as u16).to_le_bytes());
        bytes.extend(text.as_bytes());
        bytes.extend(b"\x80\x03]q\x00.");
        let message = read_bytes(&bytes, None).unwrap_err().to_string();
        assert!(message.contains("`protein` holds values of type Python object"), "{message}");
    }

    #[test]
    fn ids_stand_in_a_file_beside_it() {
        let bytes = npy_bytes(&[1., 2.], &[2, 1], Order::C);
        assert_eq!(read_bytes(&bytes, Some("a\nb\n")).unwrap().ids.unwrap(), ["a", "b"]);
        let marked = read_bytes(&bytes, Some("\u{feff}a\nb\n")).unwrap();
        assert_eq!(marked.ids.unwrap(), ["a", "b"]);
        let message = read_bytes(&bytes, Some("a\n")).unwrap_err().to_string();
        assert!(message.ends_with("1 ids for 2 rows: one id is needed for each row"), "{message}");
    }

    /// Reads the source `source`, of which `omics.npz` holds arrays of these shapes that count from 0.
    #[allow(clippy::default_trait_access)] // The options of an archive are of a crate we do not name.
    fn read_archive(
        arrays: &[(&str, &[u64])],
        source: &str,
        options: &ReadOptions,
    ) -> Result<Vec<Table>, crate::TableError> {
        let folder = tempfile::tempdir().unwrap();
        let mut archive = npyz::npz::NpzWriter::create(folder.path().join("omics.npz")).unwrap();
        for (name, shape) in arrays {
            let options = archive.array::<f64>(name, Default::default()).unwrap();
            let mut writer = options.default_dtype().shape(shape).begin_nd().unwrap();
            writer.extend((0..shape.iter().product()).map(|x| x as f64)).unwrap();
            writer.finish().unwrap();
        }
        drop(archive);
        let source: ViewSource = source.parse().unwrap();
        read_views(&ViewSource { path: folder.path().join(&source.path), ..source }, options)
    }

    #[test]
    fn what_is_no_matrix_in_an_archive_is_passed_over_unless_asked_for() {
        let arrays: [(&str, &[u64]); 4] =
            [("a", &[2, 2]), ("ids", &[2]), ("k", &[]), ("stack", &[2, 1, 2])];
        let read = |source: &str| read_archive(&arrays, source, &ReadOptions::default());
        let [table] = <[Table; 1]>::try_from(read("omics.npz").unwrap()).unwrap();
        assert_eq!((table.name.as_str(), table.ids.unwrap()), ("a", vec!["0".into(), "1".into()]));
        let message = read("omics.npz#stack").unwrap_err().to_string();
        assert!(message.contains("`stack` has 3 dimensions"), "{message}");
    }

    #[test]
    fn vectors_that_matlab_made_columns_are_ids_and_classes_but_no_views() {
        let arrays: [(&str, &[u64]); 4] =
            [("X", &[2, 3]), ("age", &[2, 1]), ("gnd", &[2, 1]), ("ids", &[1, 2])];
        let options = ReadOptions { label: Some("gnd".into()), ..ReadOptions::default() };
        let tables = read_archive(&arrays, "omics.npz", &options).unwrap();
        let [table] = <[Table; 1]>::try_from(tables).unwrap();
        assert_eq!((table.name.as_str(), table.values.dim()), ("X", (2, 3)));
        assert_eq!(table.ids.unwrap(), ["0", "1"]);
        assert_eq!(table.labels.unwrap(), ["0", "1"]);
        let tables = read_archive(&arrays, "omics.npz#age", &options).unwrap();
        assert_eq!(tables[0].values, array![[0.], [1.]]);
    }

    /// An archive as `scipy.sparse.save_npz` writes it.
    fn read_sparse(
        format: &str,
        shape: [i64; 2],
        starts: &[i32],
    ) -> Result<Table, crate::TableError> {
        fn add<T: npyz::AutoSerialize + Copy>(
            archive: &mut npyz::npz::NpzWriter<&mut Cursor<Vec<u8>>>,
            name: &str,
            values: &[T],
        ) {
            let options = archive.array::<T>(name, FileOptions::default()).unwrap();
            let shape = [values.len() as u64];
            let mut writer = options.default_dtype().shape(&shape).begin_nd().unwrap();
            writer.extend(values.iter().copied()).unwrap();
            writer.finish().unwrap();
        }
        let mut bytes = Cursor::new(Vec::new());
        let mut archive = npyz::npz::NpzWriter::new(&mut bytes);
        add(&mut archive, "data", &[1.5_f32, 6.0, 8.0]);
        add(&mut archive, "indices", &[0_i32, 2, 1]);
        add(&mut archive, "indptr", starts);
        add(&mut archive, "shape", &shape);
        let options = archive.array::<str>("format", FileOptions::default()).unwrap();
        let dtype = DType::Plain("|S3".parse().unwrap());
        let mut writer = options.dtype(dtype).shape(&[]).begin_nd().unwrap();
        writer.push(format).unwrap();
        writer.finish().unwrap();
        drop(archive);
        let source = ViewSource { name: None, path: "counts.npz".into(), member: None };
        crate::read_bytes(bytes.into_inner(), &source, &ReadOptions::default())
            .map(|mut tables| tables.remove(0))
    }

    #[test]
    fn a_sparse_matrix_of_scipy_is_a_view_that_stays_sparse() {
        let table = read_sparse("csr", [2, 3], &[0, 2, 3]).unwrap();
        assert_eq!((table.name.as_str(), table.features.len()), ("counts", 3));
        assert_eq!(table.values, array![[1.5, 0., 6.], [0., 8., 0.]]);
        assert!(table.values.sparse().is_some());
        let table = read_sparse("csc", [3, 2], &[0, 2, 3]).unwrap();
        assert_eq!(table.values, array![[1.5, 0.], [0., 8.], [6., 0.]]);
        for (format, shape, starts, expected) in [
            ("coo", [2, 3], &[0, 2, 3], "save it with scipy.sparse.save_npz(FILE, X.tocsr())"),
            ("csr", [2, 2], &[0, 2, 3], "row 0: column index 2: must be below 2"),
            ("csr", [2, 3], &[0, 2, -3], "pointers from 0 to"),
            ("csr", [3, 3], &[0, 2, 3], "3 pointers for 3 rows"),
        ] {
            let message = read_sparse(format, shape, starts).unwrap_err().to_string();
            assert!(message.starts_with("counts.npz: ") && message.contains(expected), "{message}");
        }
    }

    #[test]
    fn one_name_is_not_given_to_several_views() {
        let arrays: [(&str, &[u64]); 2] = [("a", &[2, 2]), ("b", &[2, 2])];
        let read = |source: &str| read_archive(&arrays, source, &ReadOptions::default());
        let message = read("rna=omics.npz").unwrap_err().to_string();
        assert!(message.contains("holds several views (`a`, `b`)"), "{message}");
        assert_eq!(read("rna=omics.npz#b").unwrap()[0].name, "rna");
    }

    #[test]
    fn a_truncated_array_is_an_error() {
        let bytes = npy_bytes(&[1.; 64], &[8, 8], Order::C);
        for end in [3, 20, 90, bytes.len() - 1] {
            assert!(read_bytes(&bytes[..end], None).is_err());
        }
    }
}
