//! Reads NumPy's NPY and NPZ: matrices of samples and features, with ids.
//!
//! An NPY file cannot hold ids: they are in a text file of the same name that ends in `.ids.txt`, one id per line. An
//! NPZ archive may hold them as an array.

mod array;

use self::array::{checked, matrix, numbers, opened, values, vector};
use crate::Table;
use crate::error::{Flaw, Problem, ensure, not_a_matrix};
use crate::files::format::{Decode, Reader, Request};
use crate::files::sparse::{Compressed, places};
use crate::files::{Budget, Decoded, ViewSource, views};
use cdimc_data::Sparse;
use std::collections::HashSet;
use std::fmt::Display;
use std::io::{Cursor, Read};

type Archive<'a> = npyz::npz::NpzArchive<Cursor<&'a [u8]>>;

pub(crate) const NPY: Reader = Reader {
    name: "NumPy array",
    known_as: "NPY",
    endings: &["npy"],
    sniff: |head| head.begins(&[b"\x93NUMPY"]),
    holds_one_table: true,
    decode: Decode::Bytes(|bytes, request| read_npy(&bytes, request)),
};

pub(crate) const NPZ: Reader = Reader {
    name: "NumPy archive",
    known_as: "NPZ",
    endings: &["npz"],
    sniff: |head| head.is_zip(true) || (head.is_zip(false) && head.ends(&["npz"])),
    holds_one_table: false,
    decode: Decode::Bytes(|bytes, request| read_npz(&bytes, request)),
};

/// Reads one matrix, with the ids of `NAME.ids.txt` beside `NAME.npy` if there is one.
fn read_npy(bytes: &[u8], request: Request<'_>) -> Result<Decoded, Problem> {
    let name = request.source.stem();
    let values = matrix(&name, bytes, request.budget)?;
    let ids = ids_beside(request.source)?;
    Ok(vec![Table { ids, ..Table::new(&name, values) }].into())
}

/// Returns the lines of `NAME.ids.txt`, if there is one.
fn ids_beside(source: &ViewSource) -> Result<Option<Vec<String>>, Problem> {
    let beside = source.path.with_file_name(format!("{}.ids.txt", source.stem()));
    // A broken link is an error, not a file without ids.
    if beside.symlink_metadata().is_err() {
        return Ok(None);
    }
    let flaw = |reason: &dyn Display| {
        Problem::Message(format!("its ids in {}: {reason}", beside.display()))
    };
    ensure!(!beside.exists() || beside.is_file(), else flaw(&"is not a plain file"));
    let text = std::fs::read_to_string(&beside).map_err(|e| flaw(&e))?;
    // Otherwise the byte order mark would be part of the first id.
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    Ok(Some(text.lines().map(|line| line.trim().to_owned()).collect()))
}

/// Members of an archive written by `save_npz` of `SciPy` for compressed rows or columns.
const SPARSE: [&str; 5] = ["data", "format", "indices", "indptr", "shape"];

/// Reads every matrix of an archive, or the selected member; `--id` and `--label` name vectors in it.
fn read_npz(bytes: &[u8], request: Request<'_>) -> Result<Decoded, Problem> {
    let Request { source, options, budget } = request;
    let mut archive = npyz::npz::NpzArchive::new(Cursor::new(bytes)).map_err(Flaw::from)?;
    check_names(&mut archive, bytes)?;
    let mut names: Vec<String> = archive.array_names().map(str::to_owned).collect();
    names.sort();
    let has = |part: &str| names.iter().any(|name| name == part);
    if source.member.is_none() && SPARSE.into_iter().all(has) {
        let name = source.stem();
        let values = sparse(&mut archive, &name, budget)?;
        let ids = ids_beside(source)?;
        return Ok(vec![Table { ids, ..Table::new(&name, values) }].into());
    }
    let vectors = options.vectors(&names, |name| {
        if !has(name) {
            return Ok(None);
        }
        vector(name, &member(&mut archive, name, budget)?, budget).map(Some)
    })?;
    let tables = views(request, &names, vectors, |name| {
        let bytes = member(&mut archive, name, budget)?;
        // Numbers, vectors and stacks of matrices are not views.
        let is_matrix = matches!(opened(&bytes)?.shape(), [n, m] if *n > 1 && *m > 1);
        if source.member.is_none() && !is_matrix {
            return Ok(Vec::new());
        }
        Ok(vec![(name.to_owned(), matrix(name, &bytes, budget)?.into())])
    });
    if tables.is_err() && ["format", "data", "shape"].into_iter().all(has) {
        // For its message on sparse matrices of coordinates, diagonals or blocks.
        sparse(&mut archive, &source.stem(), budget)?;
    }
    Ok(tables?.into())
}

/// Reads a sparse matrix of `SciPy`.
fn sparse(archive: &mut Archive<'_>, name: &str, budget: &Budget) -> Result<Sparse, Problem> {
    let format = member(archive, "format", budget)?;
    let (file, _) = checked("format", &format, budget)?;
    let format = values::<String>(file)?.join(" ");
    if !["csr", "csc"].contains(&format.as_str()) {
        let reason = format!(
            "a sparse matrix of format `{format}`, while `csr` and `csc` are read: save it with \
             scipy.sparse.save_npz(FILE, X.tocsr())"
        );
        return Err(Flaw(reason).into());
    }
    let mut part = |part: &str| -> Result<Vec<f64>, Problem> {
        let bytes = member(archive, part, budget)?;
        numbers(checked(part, &bytes, budget)?.0, part)
    };
    let shape = <[usize; 2]>::try_from(places(part("shape")?))
        .map_err(|shape| not_a_matrix(name, shape.len()))?;
    let (starts, places) = (places(part("indptr")?), places(part("indices")?));
    let (by_column, entries) = (format == "csc", part("data")?);
    let parts = Compressed { shape, by_column, starts, places, entries };
    Ok(parts.read(name, budget)?)
}

/// Checks that member names are unique and agree with the directory, and that the directory ends with the last of them.
fn check_names(archive: &mut Archive<'_>, bytes: &[u8]) -> Result<(), Flaw> {
    let from = |at: u64| bytes.get(usize::try_from(at).ok()?..);
    let length = |header: &[u8], at: usize| {
        let two = header.get(at..).and_then(<[u8]>::first_chunk);
        two.map_or(0, |two| usize::from(u16::from_le_bytes(*two)))
    };
    let zip = archive.zip_archive();
    let mut seen = HashSet::new();
    let n_members = zip.len();
    for index in 0..n_members {
        let entry = zip.by_index_raw(index)?;
        let name = entry.name_raw();
        let shown = String::from_utf8_lossy(name);
        // The header of a member has the length of the name at byte 26 and the name at byte 30.
        let here = from(entry.header_start()).unwrap_or_default();
        let is_same = here.get(30..30 + length(here, 26)) == Some(name);
        ensure!(is_same, "member `{shown}` has another name in its own header");
        ensure!(seen.insert(name.to_vec()), "two members are named `{shown}`");
        // The directory's entry has the lengths of name, extra field and comment at bytes 28, 30 and 32, and these
        // fields at byte 46.
        let entry = from(entry.central_header_start()).unwrap_or_default();
        let end = 46 + [28, 30, 32].map(|at| length(entry, at)).iter().sum::<usize>();
        let goes_on = entry.get(end..).is_some_and(|rest| rest.starts_with(b"PK\x01\x02"));
        let is_end = index + 1 < n_members || !goes_on;
        ensure!(is_end, "its directory has more than the {n_members} members it counts");
    }
    Ok(())
}

/// Returns all bytes of an array in an archive, so that its checksum is compared.
fn member(archive: &mut Archive<'_>, name: &str, budget: &Budget) -> Result<Vec<u8>, Flaw> {
    let flaw = |reason: &dyn Display| Flaw::from(format!("member `{name}`: {reason}"));
    let file_name = npyz::npz::file_name_from_array_name(name);
    let entry = archive.zip_archive().by_name(&file_name).map_err(|e| flaw(&e))?;
    let promised = entry.size();
    budget.bytes(promised).map_err(|reason| flaw(&reason))?;
    let mut bytes = Vec::new();
    // The checksum is compared at the end; bytes beyond the declared length are not read.
    let found =
        entry.take(promised.saturating_add(1)).read_to_end(&mut bytes).map_err(|e| flaw(&e))?;
    let is_whole = found as u64 == promised;
    ensure!(is_whole, else flaw(&format!("{promised} bytes promised, {found} found")));
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{gives, read, refused, tables};
    use npyz::{DType, Order, WriterBuilder, zip::write::FileOptions};

    fn npy(values: &[f64], shape: &[u64], order: Order) -> Vec<u8> {
        let mut bytes = Vec::new();
        let options = npyz::WriteOptions::new().default_dtype().shape(shape).order(order);
        let mut writer = options.writer(&mut bytes).begin_nd().unwrap();
        writer.extend(values.iter().copied()).unwrap();
        writer.finish().unwrap();
        bytes
    }

    fn with_header(text: &str) -> Vec<u8> {
        let length = (text.len() as u16).to_le_bytes();
        [&b"\x93NUMPY\x01\x00"[..], &length, text.as_bytes(), b"\x80\x03]q\x00."].concat()
    }

    #[test]
    fn both_memory_orders_give_the_same_matrix() {
        for bytes in [
            npy(&[1., 2., 3., 4.], &[2, 2], Order::C),
            npy(&[1., 3., 2., 4.], &[2, 2], Order::Fortran),
        ] {
            assert_eq!(read("a.npy", bytes, "").unwrap(), "a | - | - | 0/1 | 1 2; 3 4");
        }
    }

    #[test]
    fn damaged_arrays_and_objects_are_refused() {
        let nested = format!("{{'descr': '<f4',{}\n", "{".repeat(200));
        let object = "{'descr': '|O', 'fortran_order': False, 'shape': (2,), }\n";
        for (bytes, expected) in [
            (with_header(&nested), "brackets 201 deep in its header"),
            (with_header(object), "`protein` holds values of type Python object"),
        ] {
            refused(read("protein.npy", bytes, ""), expected);
        }
    }

    #[test]
    fn ids_are_read_from_a_file_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("protein.npy").display().to_string();
        let with_ids = |ids: &str| {
            std::fs::write(folder.path().join("protein.ids.txt"), ids).unwrap();
            read(&path, npy(&[1., 2.], &[2, 1], Order::C), "")
        };
        assert_eq!(with_ids("a\nb\n").unwrap(), "protein | a b | - | 0 | 1; 2");
        assert_eq!(with_ids("\u{feff}a\nb\n").unwrap(), "protein | a b | - | 0 | 1; 2");
        refused(with_ids("a\n"), "1 ids for 2 rows: one id is needed for each row$");
        std::fs::remove_file(folder.path().join("protein.ids.txt")).unwrap();
        std::fs::create_dir(folder.path().join("protein.ids.txt")).unwrap();
        let found = read(&path, npy(&[1., 2.], &[2, 1], Order::C), "");
        refused(found, "protein.ids.txt: is not a plain file$");
    }

    fn add<T: npyz::AutoSerialize + Copy>(
        archive: &mut npyz::npz::NpzWriter<&mut Cursor<Vec<u8>>>,
        name: &str,
        shape: &[u64],
        values: &[T],
    ) {
        let options = archive.array::<T>(name, FileOptions::default()).unwrap();
        let mut writer = options.default_dtype().shape(shape).begin_nd().unwrap();
        writer.extend(values.iter().copied()).unwrap();
        writer.finish().unwrap();
    }

    /// Reads an archive of arrays of these shapes that count from 0.
    fn read_archive(
        arrays: &[(&str, &[u64])],
        source: &str,
        short: &str,
    ) -> Result<String, String> {
        let mut bytes = Cursor::new(Vec::new());
        let mut archive = npyz::npz::NpzWriter::new(&mut bytes);
        for (name, shape) in arrays {
            let values: Vec<f64> = (0..shape.iter().product::<u64>()).map(|x| x as f64).collect();
            add(&mut archive, name, shape, &values);
        }
        drop(archive);
        read(source, bytes.into_inner(), short)
    }

    #[test]
    fn matrices_of_an_archive_are_views_and_vectors_of_any_shape_are_ids_and_classes() {
        let stacked: &[(&str, &[u64])] =
            &[("a", &[2, 2]), ("ids", &[2]), ("k", &[]), ("stack", &[2, 1, 2])];
        let of_matlab: &[(&str, &[u64])] =
            &[("X", &[2, 3]), ("age", &[2, 1]), ("gnd", &[2, 1]), ("ids", &[1, 2])];
        let two: &[(&str, &[u64])] = &[("a", &[2, 2]), ("b", &[2, 2])];
        for (arrays, source, short, expected) in [
            (stacked, "o.npz", "", "a | 0 1 | - | 0/1 | 0 1; 2 3"),
            (stacked, "o.npz#stack", "", "! `stack` has 3 dimensions"),
            (of_matlab, "o.npz", "label=gnd", "X | 0 1 | 0 1 | 0/1/2 | 0 1 2; 3 4 5"),
            (of_matlab, "o.npz#age", "label=gnd", "age | 0 1 | 0 1 | 0 | 0; 1"),
            (two, "rna=o.npz", "", "! holds several views (`a`, `b`)"),
            (two, "rna=o.npz#b", "", "rna | - | - | 0/1 | 0 1; 2 3"),
        ] {
            gives(read_archive(arrays, source, short), expected);
        }
    }

    /// Returns an archive as `scipy.sparse.save_npz` writes it.
    fn of_scipy(format: &str, shape: [i64; 2], starts: &[i32]) -> Vec<u8> {
        let mut bytes = Cursor::new(Vec::new());
        let mut archive = npyz::npz::NpzWriter::new(&mut bytes);
        add(&mut archive, "data", &[3], &[1.5_f32, 6.0, 8.0]);
        add(&mut archive, "indices", &[3], &[0_i32, 2, 1]);
        add(&mut archive, "indptr", &[starts.len() as u64], starts);
        add(&mut archive, "shape", &[2], &shape);
        let options = archive.array::<str>("format", FileOptions::default()).unwrap();
        let dtype = DType::Plain("|S3".parse().unwrap());
        let mut writer = options.dtype(dtype).shape(&[]).begin_nd().unwrap();
        writer.push(format).unwrap();
        writer.finish().unwrap();
        drop(archive);
        bytes.into_inner()
    }

    #[test]
    fn a_sparse_matrix_of_scipy_is_a_view_that_stays_sparse() {
        let bytes = of_scipy("csr", [2, 3], &[0, 2, 3]);
        assert!(tables("c.npz", bytes.clone(), "").unwrap()[0].values.sparse().is_some());
        assert_eq!(read("c.npz", bytes, "").unwrap(), "c | - | - | 0/1/2 | 1.5 0 6; 0 8 0");
        let bytes = of_scipy("csc", [3, 2], &[0, 2, 3]);
        assert_eq!(read("c.npz", bytes, "").unwrap(), "c | - | - | 0/1 | 1.5 0; 0 8; 6 0");
        for (format, shape, starts, expected) in [
            ("coo", [2, 3], &[0, 2, 3], "save it with scipy.sparse.save_npz(FILE, X.tocsr())"),
            ("csr", [2, 3], &[0, 2, -3], "pointers from 0 to"),
        ] {
            let message = read("c.npz", of_scipy(format, shape, starts), "").unwrap_err();
            assert!(message.starts_with("c.npz: ") && message.contains(expected), "{message}");
        }
    }
}
