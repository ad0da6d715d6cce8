//! Reads Loom: a matrix of genes by cells, attributes of rows and columns, layers of the same shape.

use crate::Table;
use crate::error::{Flaw, Problem};
use crate::files::format::Request;
use crate::files::hdf5_file::{Group, Hdf5File, if_there};
use std::collections::HashSet;

/// Usual attributes with the names of cells and genes; the first gene attribute without repeats is used.
const CELLS: [&str; 4] = ["CellID", "obs_names", "cell_names", "barcode"];
const GENES: [&str; 4] = ["Gene", "var_names", "gene_names", "Accession"];

/// Reads the view `(n_cells, n_genes)` of the matrix or the selected layer.
pub(super) fn read(
    file: &Hdf5File,
    root: &Group,
    Request { source, options, .. }: Request<'_>,
) -> Result<Table, Problem> {
    let (rows, columns) = (root.group("row_attrs")?, root.group("col_attrs")?);
    let words = |group: &Group, name: &str| file.words_in(group, name);
    let (dataset, name) = match &source.member {
        None => (if_there(root.dataset("matrix"))?, source.stem()),
        Some(layer) => {
            let layers = if_there(root.group("layers"))?;
            source.check_member(&layers.as_ref().map_or(Ok(Vec::new()), Hdf5File::names)?)?;
            (layers.map_or(Ok(None), |layers| if_there(layers.dataset(layer)))?, layer.clone())
        }
    };
    let dataset = dataset.ok_or_else(|| Problem::NoMatrix { there: "none".into() })?;
    let values = file.matrix(&dataset, &name)?;
    let values = values.reversed_axes().as_standard_layout().into_owned();
    let there = |group: &Group, names: [&str; 4]| -> Result<Vec<Vec<String>>, Flaw> {
        names.into_iter().filter_map(|name| words(group, name).transpose()).collect()
    };
    let ids = match &options.id {
        Some(id) => words(&columns, id)?,
        None => there(&columns, CELLS)?.into_iter().next(),
    };
    if let (Some(id), None) = (&options.id, &ids) {
        return Err(Problem::no_column(id, &Hdf5File::names(&columns)?));
    }
    let labels = options.label.as_ref().map(|label| words(&columns, label)).transpose()?.flatten();
    let mut genes = there(&rows, GENES)?;
    let is_once = |names: &Vec<String>| names.iter().collect::<HashSet<_>>().len() == names.len();
    let place = genes.iter().position(is_once).unwrap_or(0);
    let features = if genes.is_empty() { Vec::new() } else { genes.swap_remove(place) };
    let (n, m) = (features.len(), values.ncols());
    if n > 0 && n != m {
        return Err(Flaw(format!("{n} names of genes, {m} rows in the matrix")).into());
    }
    Ok(Table { ids, labels, features, ..Table::new(&name, values) })
}

#[cfg(test)]
mod tests {
    use crate::testing::read;
    use hdf5_pure::FileBuilder;

    /// Returns two genes of one name in three cells.
    fn loom() -> Vec<u8> {
        let mut file = FileBuilder::new();
        let matrix = file.create_dataset("matrix");
        matrix.with_f64_data(&[1., 2., 3., 4., 5., 6.]).with_shape(&[2, 3]);
        for (group, attributes) in [
            ("row_attrs", [("Gene", &["TBCE", "TBCE"][..]), ("Accession", &["E1", "E2"])]),
            ("col_attrs", [("CellID", &["c1", "c2", "c3"]), ("Kind", &["u", "v", "u"])]),
        ] {
            let mut group = file.create_group(group);
            for (name, values) in attributes {
                group.create_dataset(name).with_vlen_strings(values);
            }
            file.add_group(group.finish());
        }
        let mut layers = file.create_group("layers");
        layers.create_dataset("spliced").with_f64_data(&[6.; 6]).with_shape(&[2, 3]);
        file.add_group(layers.finish());
        file.finish().unwrap()
    }

    #[test]
    fn cells_are_samples_with_their_names() {
        for (source, options, expected) in [
            ("cells.loom", "label=Kind", Ok("cells | c1 c2 c3 | u v u | E1/E2 | 1 4; 2 5; 3 6")),
            ("o.loom#spliced", "", Ok("spliced | c1 c2 c3 | - | E1/E2 | 6 6; 6 6; 6 6")),
            ("o.loom#raw", "", Err("o.loom: no member `raw`; there are: `spliced`")),
            ("o.loom", "id=cell", Err("o.loom: no column `cell`; there are: `CellID`, `Kind`")),
        ] {
            let expected = expected.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(read(source, loom(), options), expected);
        }
    }
}
