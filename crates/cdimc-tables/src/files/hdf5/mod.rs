//! HDF5: `AnnData` (`.h5ad`), `MuData` (`.h5mu`), MATLAB 7.3 (`.mat`), 10x Genomics (`.h5`), Loom, or plain matrices.

use crate::Table;
use crate::error::{Problem, damaged_hdf5 as damaged, listed};
use crate::files::hdf5_file::{Dataset, Group, Hdf5File};
use crate::files::matlab::{self, MatFile};
use crate::files::tenx::Names;
use crate::files::{Budget, Found, ReadOptions, ViewSource};
use cdimc_data::Sparse;

mod anndata;
mod loom;

/// Reads every matrix that the file's convention holds, or the member asked for.
pub(crate) fn read(
    bytes: Vec<u8>,
    budget: Budget,
    source: &ViewSource,
    options: &ReadOptions,
) -> Result<Found, Problem> {
    let file = Hdf5File::open(bytes, budget).map_err(damaged)?;
    let root = file.root();
    let names = Hdf5File::names(&root).map_err(damaged)?;
    let has = |name: &str| names.iter().any(|there| there == name);
    // Its variables bear MATLAB's marks and may have any names, those of the other conventions too.
    if MatFile::is_version73(&file) {
        let file = MatFile::of_hdf5(&source.path, &file).map_err(|e| matlab::damaged(&e))?;
        return matlab::read(&file, source, options);
    }
    let tables = if loom::is_loom(&root)? {
        vec![loom::read(&file, &root, source, options)?]
    } else if has("mod") {
        anndata::read_modalities(&file, source, options)?
    } else if has("obs") || has("var") || (has("X") && root.group("X").is_ok()) {
        vec![anndata::read(&file, source, options)?]
    } else if let Some((counts, names)) = feature_barcode_matrix(&file).map_err(damaged)? {
        names.tables(counts, source)?
    } else {
        plain(&file, &root, &names, source, options)?
    };
    Ok(tables.into())
}

/// The counts `(n_barcodes, n_features)` and names of a file of 10x Genomics, `None` if it is none.
fn feature_barcode_matrix(file: &Hdf5File) -> Result<Option<(Sparse, Names)>, String> {
    let Some(matrix) = Hdf5File::group(&file.root(), "matrix")? else { return Ok(None) };
    let Some(barcodes) = Hdf5File::dataset(&matrix, "barcodes")? else { return Ok(None) };
    let absent = |name: &str| format!("`{name}` is missing in `matrix`");
    let features = Hdf5File::group(&matrix, "features")?.ok_or_else(|| absent("features"))?;
    let words = |name: &str| {
        let words = Hdf5File::dataset(&features, name)?.map(|words| file.words(&words));
        words.unwrap_or_else(|| Err(absent(name)))
    };
    let barcodes = file.words(&barcodes)?;
    let names = Names {
        barcodes,
        ids: words("id")?,
        names: words("name")?,
        types: words("feature_type")?,
        by_row: false,
    };
    Ok(Some((file.counts(&matrix)?, names)))
}

/// The matrices at the top of a file that follows no convention.
fn plain(
    file: &Hdf5File,
    root: &Group,
    names: &[String],
    source: &ViewSource,
    options: &ReadOptions,
) -> Result<Vec<Table>, Problem> {
    let there = || listed(names.iter().map(String::as_str));
    let ids_name = options.id.as_deref().unwrap_or("ids");
    let vector = |name: &str| -> Result<Option<Vec<String>>, Problem> {
        let Some(dataset) = Hdf5File::dataset(root, name).map_err(damaged)? else {
            return Ok(None);
        };
        file.words(&dataset).map(Some).map_err(damaged)
    };
    let ids = vector(ids_name)?;
    if let (Some(id), None) = (&options.id, &ids) {
        return Err(Problem::NoMember { name: id.clone(), there: there() });
    }
    let labels = options.label.as_deref().map(vector).transpose()?.flatten();
    let mut tables = Vec::new();
    for name in names {
        let asked = source.member.as_ref() == Some(name);
        let is_vector = name == ids_name || options.label.as_ref() == Some(name);
        if is_vector {
            continue;
        }
        let Some(dataset) = Hdf5File::dataset(root, name).map_err(damaged)? else { continue };
        if asked || (source.member.is_none() && is_matrix(&dataset)?) {
            let values = file.matrix(&dataset, name).map_err(damaged)?.into();
            tables.push(Table {
                name: name.clone(),
                path: source.path.clone(),
                ids: ids.clone(),
                labels: labels.clone(),
                features: Vec::new(),
                left_out: Vec::new(),
                values,
            });
        }
    }
    match &source.member {
        Some(member) if tables.is_empty() => {
            Err(Problem::NoMember { name: member.clone(), there: there() })
        }
        None if tables.is_empty() => Err(Problem::NoMatrix { there: there() }),
        _ => Ok(tables),
    }
}

fn is_matrix(dataset: &Dataset) -> Result<bool, Problem> {
    let shape = Hdf5File::shape(dataset).map_err(damaged)?;
    Ok(shape.len() == 2 && shape.iter().all(|&n| n > 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TableError;
    use crate::files::read_views;
    use hdf5_pure::AttrValue;
    use hdf5_pure::FileBuilder;
    use ndarray::array;

    fn read_member(bytes: &[u8], member: Option<&str>) -> Result<Vec<Table>, TableError> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("both.mat");
        std::fs::write(&path, bytes).expect("room for a file");
        let source = ViewSource { name: None, path, member: member.map(str::to_owned) };
        read_views(&source, &ReadOptions::default())
    }

    /// A file that is to have a sparse matrix of MATLAB under this name.
    fn sparse(name: &str) -> FileBuilder {
        let mut file = FileBuilder::new();
        let mut sparse = file.create_group(name);
        sparse.set_attr("MATLAB_sparse", AttrValue::U64(2));
        sparse.create_dataset("data").with_f64_data(&[7., 8., 9.]);
        sparse.create_dataset("ir").with_u64_data(&[1, 0, 1]);
        sparse.create_dataset("jc").with_u64_data(&[0, 1, 1, 3]);
        file.add_group(sparse.finish());
        file
    }

    #[test]
    fn variables_of_matlab_may_be_named_as_the_parts_of_anndata() {
        for name in ["X", "mod", "obs"] {
            let bytes = sparse(name).finish().expect("a file in memory");
            let [table] = <[Table; 1]>::try_from(read_member(&bytes, None).unwrap()).unwrap();
            assert_eq!(table.values, array![[0., 0., 8.], [7., 0., 9.]]);
        }
    }

    #[test]
    fn text_of_another_encoding_is_refused() {
        for is_fixed in [false, true] {
            let mut file = FileBuilder::new();
            file.create_dataset("X").with_f64_data(&[1., 2., 3., 4.]).with_shape(&[2, 2]);
            let ids = file.create_dataset("ids");
            if is_fixed {
                ids.with_strings(&["J\u{e4}ger", "Weber"]).unwrap();
            } else {
                ids.with_vlen_strings(&["J\u{e4}ger", "Weber"]);
            }
            let mut bytes = file.finish().expect("a file in memory");
            let table = read_member(&bytes, None).unwrap().remove(0);
            assert_eq!(table.ids.unwrap(), ["J\u{e4}ger", "Weber"]);
            let at = bytes.windows(3).position(|part| part == *b"J\xc3\xa4").expect("the id");
            bytes[at + 1..at + 3].copy_from_slice(b"\xe4e");
            let message = read_member(&bytes, None).unwrap_err().to_string();
            assert!(message.contains("text that is not UTF-8"), "{message}");
        }
    }

    #[test]
    fn samples_in_columns_are_asked_about() {
        let mut file = sparse("X");
        let classes = file.create_dataset("y");
        classes.with_f64_data(&[1., 2., 2.]).with_shape(&[1, 3]);
        let bytes = file.finish().expect("a file in memory");
        let source = ViewSource { name: None, path: "a.mat".into(), member: None };
        let found = read(bytes, Budget::of_file(0, None), &source, &ReadOptions::default());
        let [warning] = <[String; 1]>::try_from(found.unwrap().warnings).unwrap();
        assert!(
            warning.starts_with("`y` has 3 entries, as the matrices have columns"),
            "{warning}"
        );
    }

    #[test]
    fn sparse_matrices_of_matlab_are_views_and_other_groups_are_not() {
        let mut file = sparse("s");
        let mut settings = file.create_group("t");
        settings.create_dataset("k").with_f64_data(&[3.]);
        file.add_group(settings.finish());
        let bytes = file.finish().expect("a file in memory");
        for member in [None, Some("s")] {
            let [table] = <[Table; 1]>::try_from(read_member(&bytes, member).unwrap()).unwrap();
            assert_eq!(table.values, array![[0., 0., 8.], [7., 0., 9.]]);
            assert!(table.values.sparse().is_some());
        }
        let message = read_member(&bytes, Some("t")).unwrap_err().to_string();
        assert!(message.contains("t is a struct: a numeric matrix is needed"), "{message}");
    }
}
