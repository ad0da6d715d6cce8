//! Loom: a matrix of genes by cells, attributes of its rows and of its columns, layers of the same shape.

use crate::Table;
use crate::error::{Problem, damaged_hdf5 as damaged, listed};
use crate::files::hdf5_file::{Group, Hdf5File};
use crate::files::{ReadOptions, ViewSource, stem};

/// What programs call the names of cells, and of genes; those of genes that repeat are passed over where others do not.
const CELLS: [&str; 4] = ["CellID", "obs_names", "cell_names", "barcode"];
const GENES: [&str; 4] = ["Gene", "var_names", "gene_names", "Accession"];

/// Whether the group at the top is of such a file.
pub(super) fn is_loom(root: &Group) -> Result<bool, Problem> {
    let has_group = |name: &str| Hdf5File::group(root, name).map(|group| group.is_some());
    let has = || -> Result<bool, String> {
        Ok(Hdf5File::dataset(root, "matrix")?.is_some()
            && has_group("row_attrs")?
            && has_group("col_attrs")?)
    };
    has().map_err(damaged)
}

/// The view `(n_cells, n_genes)` of the matrix, or of the layer that is asked for.
pub(super) fn read(
    file: &Hdf5File,
    root: &Group,
    source: &ViewSource,
    options: &ReadOptions,
) -> Result<Table, Problem> {
    let attributes = |name: &str| root.group(name).map_err(damaged);
    let (rows, columns) = (attributes("row_attrs")?, attributes("col_attrs")?);
    let words = |group: &Group, name: &str| -> Result<Option<Vec<String>>, Problem> {
        let dataset = Hdf5File::dataset(group, name).map_err(damaged)?;
        dataset.map(|dataset| file.words(&dataset).map_err(damaged)).transpose()
    };
    let there = |group: &Group| -> Result<String, Problem> {
        let names = Hdf5File::names(group).map_err(damaged)?;
        Ok(listed(names.iter().map(String::as_str)))
    };
    let (dataset, name) = match &source.member {
        None => (Hdf5File::dataset(root, "matrix").map_err(damaged)?, stem(&source.path)),
        Some(layer) => {
            let layers = Hdf5File::group(root, "layers").map_err(damaged)?;
            let found = layers.as_ref().map(|layers| Hdf5File::dataset(layers, layer));
            let found = found.transpose().map_err(damaged)?.flatten();
            if let (None, Some(layers)) = (&found, &layers) {
                return Err(Problem::NoMember { name: layer.clone(), there: there(layers)? });
            }
            (found, layer.clone())
        }
    };
    let dataset = dataset.ok_or_else(|| Problem::NoMatrix { there: "none".into() })?;
    let values = file.matrix(&dataset, &name).map_err(damaged)?;
    let values = values.reversed_axes().as_standard_layout().into_owned();
    let named = match &options.id {
        Some(id) => match words(&columns, id)? {
            Some(ids) => Some(ids),
            None => return Err(Problem::NoColumn { name: id.clone(), there: there(&columns)? }),
        },
        None => None,
    };
    let first =
        |group: &Group, names: [&str; 4], once: bool| -> Result<Option<Vec<String>>, Problem> {
            let mut found = Vec::new();
            for name in names {
                found.extend(words(group, name)?);
            }
            let is_once = |names: &Vec<String>| {
                names.iter().collect::<std::collections::HashSet<_>>().len() == names.len()
            };
            let place = found.iter().position(|names| !once || is_once(names)).unwrap_or(0);
            Ok((!found.is_empty()).then(|| found.swap_remove(place)))
        };
    let ids = match named {
        Some(ids) => Some(ids),
        None => first(&columns, CELLS, false)?,
    };
    let labels = options.label.as_ref().map(|label| words(&columns, label)).transpose()?.flatten();
    let features = first(&rows, GENES, true)?.unwrap_or_default();
    if !features.is_empty() && features.len() != values.ncols() {
        let (names, genes) = (features.len(), values.ncols());
        return Err(damaged(format!("{names} names of genes, {genes} rows in the matrix")));
    }
    let (path, left_out) = (source.path.clone(), Vec::new());
    Ok(Table { name, path, ids, labels, features, left_out, values: values.into() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read_bytes;
    use hdf5_pure::FileBuilder;
    use ndarray::array;

    /// Two genes of one name in three cells.
    fn loom() -> Vec<u8> {
        let mut file = FileBuilder::new();
        let matrix = file.create_dataset("matrix");
        matrix.with_f64_data(&[1., 2., 3., 4., 5., 6.]).with_shape(&[2, 3]);
        let mut rows = file.create_group("row_attrs");
        rows.create_dataset("Gene").with_vlen_strings(&["TBCE", "TBCE"]);
        rows.create_dataset("Accession").with_vlen_strings(&["E1", "E2"]);
        file.add_group(rows.finish());
        let mut columns = file.create_group("col_attrs");
        columns.create_dataset("CellID").with_vlen_strings(&["c1", "c2", "c3"]);
        columns.create_dataset("Kind").with_vlen_strings(&["u", "v", "u"]);
        file.add_group(columns.finish());
        let mut layers = file.create_group("layers");
        layers.create_dataset("spliced").with_f64_data(&[6.; 6]).with_shape(&[2, 3]);
        file.add_group(layers.finish());
        file.finish().expect("a file in memory")
    }

    #[test]
    fn cells_are_samples_with_their_names() {
        let read = |member: Option<&str>, id: Option<&str>| {
            let member = member.map(str::to_owned);
            let source = ViewSource { name: None, path: "cells.loom".into(), member };
            let (id, label) = (id.map(str::to_owned), Some("Kind".into()));
            read_bytes(loom(), &source, &ReadOptions { id, label, ..ReadOptions::default() })
                .map(|mut tables| tables.remove(0))
        };
        let table = read(None, None).unwrap();
        assert_eq!(
            (table.name.as_str(), table.features),
            ("cells", vec!["E1".into(), "E2".into()])
        );
        assert_eq!(
            (table.ids.unwrap(), table.labels.unwrap()[1].as_str()),
            (vec!["c1".into(), "c2".into(), "c3".into()], "v")
        );
        assert_eq!(table.values, array![[1., 4.], [2., 5.], [3., 6.]]);
        assert_eq!(
            read(Some("spliced"), None).unwrap().values,
            array![[6., 6.], [6., 6.], [6., 6.]]
        );
        let message = read(Some("raw"), None).unwrap_err().to_string();
        assert!(message.ends_with("no member `raw`; there are: `spliced`"), "{message}");
        let message = read(None, Some("cell")).unwrap_err().to_string();
        assert!(message.ends_with("no column `cell`; there are: `CellID`, `Kind`"), "{message}");
    }
}
