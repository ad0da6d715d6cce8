//! Reads HDF5: `AnnData` (`.h5ad`), `MuData` (`.h5mu`), MATLAB 7.3 (`.mat`), 10x Genomics (`.h5`), Loom, or plain
//! matrices.

use crate::Table;
use crate::error::{Flaw, Problem};
use crate::files::format::{Decode, Reader, Request};
use crate::files::hdf5_file::{Group, Hdf5File, if_there, is_hdf5_bytes};
use crate::files::matlab::{self, MatFile};
use crate::files::tenx::Names;
use crate::files::{Decoded, views};
use cdimc_data::Sparse;

mod anndata;
mod loom;

pub(crate) const HDF5: Reader = Reader {
    name: "HDF5 file",
    known_as: "HDF5 (AnnData, MuData, Loom, 10x Genomics)",
    endings: &["h5", "h5ad", "h5mu", "hdf5", "loom"],
    // MATLAB 7.3 and `MuData` write a block of 512 bytes before it.
    sniff: |head| is_hdf5_bytes(head.bytes),
    holds_one_table: false,
    decode: Decode::Foreign(read),
};

/// Reads every matrix of the file's convention, or the selected member.
fn read(bytes: Vec<u8>, request: Request<'_>) -> Result<Decoded, Problem> {
    let file = Hdf5File::open(bytes, request.budget.clone())?;
    let root = file.root();
    let names = Hdf5File::names(&root)?;
    let has = |name: &str| names.iter().any(|there| there == name);
    // MATLAB's variables may have any name, even one of another convention.
    if matlab::is_matlab(&root) {
        let file = MatFile::of_hdf5(&file).map_err(matlab::damaged)?;
        return matlab::read(&file, request);
    }
    let tables = if ["matrix", "row_attrs", "col_attrs"].into_iter().all(has) {
        vec![loom::read(&file, &root, request)?]
    } else if has("mod") {
        anndata::read_modalities(&file, request)?
    } else if has("obs") || has("var") || (has("X") && root.group("X").is_ok()) {
        vec![anndata::read(&file, request)?]
    } else if let Some((counts, names)) = feature_barcode_matrix(&file)? {
        names.tables(counts, request.source)?
    } else {
        plain(&file, &root, &names, request)?
    };
    Ok(tables.into())
}

/// Reads the counts `(n_barcodes, n_features)` and names of a 10x Genomics file, or returns `None` for other files.
fn feature_barcode_matrix(file: &Hdf5File) -> Result<Option<(Sparse, Names)>, Flaw> {
    let Some(matrix) = if_there(file.root().group("matrix"))? else { return Ok(None) };
    let Some(barcodes) = file.words_in(&matrix, "barcodes")? else { return Ok(None) };
    let absent = |name: &str| Flaw(format!("`{name}` is missing in `matrix`"));
    let features = if_there(matrix.group("features"))?.ok_or_else(|| absent("features"))?;
    let words = |name: &str| file.words_in(&features, name)?.ok_or_else(|| absent(name));
    let names = Names {
        barcodes,
        ids: words("id")?,
        names: words("name")?,
        types: words("feature_type")?,
        by_row: false,
    };
    Ok(Some((file.counts(&matrix)?, names)))
}

/// Reads the matrices at the top level of a file without a convention.
fn plain(
    file: &Hdf5File,
    root: &Group,
    names: &[String],
    request: Request<'_>,
) -> Result<Vec<Table>, Problem> {
    let vectors = request.options.vectors(names, |name| Ok(file.words_in(root, name)?))?;
    views(request, names, vectors, |name| {
        let Some(dataset) = if_there(root.dataset(name))? else { return Ok(Vec::new()) };
        let shape = Hdf5File::shape(&dataset)?;
        let is_matrix = shape.len() == 2 && shape.iter().all(|&n| n > 1);
        if request.source.member.is_none() && !is_matrix {
            return Ok(Vec::new());
        }
        Ok(vec![(name.to_owned(), file.matrix(&dataset, name)?.into())])
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::{read, refused, tables, warnings};
    use hdf5_pure::{AttrValue, FileBuilder};

    /// Returns a file with a sparse matrix of MATLAB of this name.
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
    fn variables_of_matlab_may_have_names_of_anndata() {
        for name in ["X", "mod", "obs"] {
            let bytes = sparse(name).finish().unwrap();
            assert_eq!(read("a.mat", bytes, "").unwrap(), "a | - | - | 0/1/2 | 0 0 8; 7 0 9");
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
            let mut bytes = file.finish().unwrap();
            let expected = "X | J\u{e4}ger Weber | - | 0/1 | 1 2; 3 4";
            assert_eq!(read("a.h5", bytes.clone(), "").unwrap(), expected);
            let at = bytes.windows(3).position(|part| part == *b"J\xc3\xa4").unwrap();
            bytes[at + 1..at + 3].copy_from_slice(b"\xe4e");
            refused(read("a.h5", bytes, ""), "text that is not UTF-8");
        }
    }

    #[test]
    fn samples_in_columns_get_a_warning() {
        let mut file = sparse("X");
        let classes = file.create_dataset("y");
        classes.with_f64_data(&[1., 2., 2.]).with_shape(&[1, 3]);
        let warnings = warnings("a.mat", file.finish().unwrap(), "").unwrap();
        let expected = "`y` has 3 entries, as the matrices have columns: if those are the samples, add --transposed FILE";
        assert_eq!(warnings, [expected]);
    }

    #[test]
    fn sparse_matrices_of_matlab_are_views_and_other_groups_are_not() {
        let mut file = sparse("s");
        let mut settings = file.create_group("t");
        settings.create_dataset("k").with_f64_data(&[3.]);
        file.add_group(settings.finish());
        let bytes = file.finish().unwrap();
        for source in ["s.mat", "a.mat#s"] {
            let found = read(source, bytes.clone(), "").unwrap();
            assert_eq!(found, "s | - | - | 0/1/2 | 0 0 8; 7 0 9");
            assert!(tables(source, bytes.clone(), "").unwrap()[0].values.sparse().is_some());
        }
        refused(read("a.mat#t", bytes, ""), "t is a struct: a numeric matrix is needed");
    }
}
