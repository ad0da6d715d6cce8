//! HDF5: AnnData (`.h5ad`), MuData (`.h5mu`), MATLAB 7.3 (`.mat`), or plain matrices.
//!
//! Of an AnnData the view is `X`; a member names one of its `layers` or `obsm` instead. Every modality
//! of a MuData is a view; a member names one, or a matrix of one as `MODALITY/LAYER`.

use super::error::Problem;
use super::{ReadOptions, Table, ViewSource};

#[cfg(feature = "hdf5")]
pub(super) use with_hdf5::read;

#[cfg(not(feature = "hdf5"))]
pub(super) fn read(_: &ViewSource, _: &ReadOptions) -> Result<Vec<Table>, Problem> {
    let reason = "this build reads no HDF5: build it with the feature `hdf5`".into();
    Err(Problem::Damaged { format: "HDF5 file", reason })
}

#[cfg(feature = "hdf5")]
mod with_hdf5 {
    use super::super::error::listed;
    use super::super::{hide_missing_numbers, numbered, stem};
    use super::{Problem, ReadOptions, Table, ViewSource};
    use hdf5_pure::{AttrValue, DType, Dataset, File, Group, Object};
    use ndarray::Array2;

    /// Reads every matrix the file's convention holds, or the member asked for.
    pub(in super::super) fn read(
        source: &ViewSource,
        options: &ReadOptions,
    ) -> Result<Vec<Table>, Problem> {
        let file = File::open(&source.path).map_err(damaged)?;
        let root = file.root();
        let groups = root.groups().map_err(damaged)?;
        let datasets = root.datasets().map_err(damaged)?;
        let has = |name: &str| groups.iter().chain(&datasets).any(|there| there == name);
        let file_name = stem(&source.path);
        let mut tables = Vec::new();
        if has("mod") {
            let modalities = root.group("mod").map_err(damaged)?;
            let mut names = modalities.groups().map_err(damaged)?;
            names.sort();
            let (modality, layer) = match source.member.as_deref() {
                Some(member) => match member.split_once('/') {
                    Some((modality, layer)) => (Some(modality), Some(layer)),
                    None => (Some(member), None),
                },
                None => (None, None),
            };
            for name in chosen(names, modality)? {
                let group = modalities.group(&name).map_err(damaged)?;
                tables.push(ann_data(&group, name, layer, source, options)?);
            }
        } else if has("obs") && has("var") {
            let layer = source.member.as_deref();
            let name = layer.map_or(file_name, str::to_owned);
            tables.push(ann_data(&root, name, layer, source, options)?);
        } else {
            tables = matrices(&root, source, options)?;
        }
        for table in &mut tables {
            hide_missing_numbers(&mut table.values, options);
        }
        Ok(tables)
    }

    /// The member asked for, or all.
    fn chosen(names: Vec<String>, member: Option<&str>) -> Result<Vec<String>, Problem> {
        match member {
            None => Ok(names),
            Some(member) if names.iter().any(|name| name == member) => Ok(vec![member.to_owned()]),
            Some(member) => Err(Problem::NoMember {
                name: member.to_owned(),
                there: listed(names.iter().map(String::as_str)),
            }),
        }
    }

    /// One AnnData: `X` or another matrix, the names of its rows in `obs`, of its columns in `var`.
    fn ann_data(
        group: &Group,
        name: String,
        layer: Option<&str>,
        source: &ViewSource,
        options: &ReadOptions,
    ) -> Result<Table, Problem> {
        let part = |part: &str, name: &str| match group.group(part) {
            Ok(part) => matrix(&part, name),
            Err(_) => Ok(None),
        };
        let no_such = |name: &str| {
            let parts = ["layers", "obsm"].into_iter().filter_map(|part| group.group(part).ok());
            let there: Vec<String> = parts.flat_map(|part| names_in(&part)).collect();
            let there = listed(there.iter().map(String::as_str));
            Problem::NoMember { name: name.to_owned(), there }
        };
        let (values, has_features) = match layer {
            None => (matrix(group, "X")?.ok_or_else(|| no_such("X"))?, true),
            Some(layer) => match part("layers", layer)? {
                Some(values) => (values, true),
                None => (part("obsm", layer)?.ok_or_else(|| no_such(layer))?, false),
            },
        };
        let obs = group.group("obs").map_err(damaged)?;
        let ids = match &options.id {
            Some(id) => column(&obs, id)?
                .ok_or_else(|| Problem::NoColumn { name: id.clone(), there: members(&obs) })?,
            None => column(&obs, &index_name(&obs)?)?.unwrap_or_default(),
        };
        let labels = match &options.label {
            Some(label) => column(&obs, label)?,
            None => None,
        };
        let features = match group.group("var") {
            Ok(var) if has_features => column(&var, &index_name(&var)?)?,
            _ => None,
        };
        let features = features.unwrap_or_else(|| numbered(values.ncols()));
        if features.len() != values.ncols() {
            let reason =
                format!("{} names in var, {} columns in X", features.len(), values.ncols());
            return Err(Problem::Damaged { format: "AnnData", reason });
        }
        Ok(Table { name, path: source.path.clone(), ids: Some(ids), labels, features, values })
    }

    /// The matrix `name` of a group, dense or sparse, if there is one.
    fn matrix(group: &Group, name: &str) -> Result<Option<Array2<f64>>, Problem> {
        match (group.dataset(name), group.group(name)) {
            (Ok(matrix), _) => dense(&matrix, name).map(Some),
            (Err(_), Ok(matrix)) => sparse(&matrix, name).map(Some),
            (Err(_), Err(_)) => Ok(None),
        }
    }

    /// The column of a data frame that AnnData calls its index.
    fn index_name(frame: &Group) -> Result<String, Problem> {
        Ok(match frame.attrs().map_err(damaged)?.get("_index") {
            Some(value) => text(value).unwrap_or_else(|| "_index".into()),
            None => "_index".into(),
        })
    }

    /// A column of a data frame as text: strings, numbers, categories with codes, or values some of
    /// which a mask hides.
    fn column(frame: &Group, name: &str) -> Result<Option<Vec<String>>, Problem> {
        if let Ok(dataset) = frame.dataset(name) {
            return names(&dataset).map(Some);
        }
        let Ok(parts) = frame.group(name) else { return Ok(None) };
        let numbers = |part: &str| parts.dataset(part).and_then(|d| d.read_i64()).map_err(damaged);
        if let Some(values) = column(&parts, "values")? {
            let shown = |(word, hidden)| if hidden == 0 { word } else { String::new() };
            return Ok(Some(values.into_iter().zip(numbers("mask")?).map(shown).collect()));
        }
        let categories = column(&parts, "categories")?.ok_or_else(|| not_read(name, "group"))?;
        let codes = numbers("codes")?;
        let word =
            |code: i64| usize::try_from(code).ok().and_then(|code| categories.get(code)).cloned();
        Ok(Some(codes.into_iter().map(|code| word(code).unwrap_or_default()).collect()))
    }

    /// A vector as text.
    fn names(dataset: &Dataset) -> Result<Vec<String>, Problem> {
        match dataset.dtype().map_err(damaged)? {
            DType::String | DType::VariableLengthString => dataset.read_string().map_err(damaged),
            DType::F32 | DType::F64 => {
                Ok(dataset.read_f64().map_err(damaged)?.iter().map(ToString::to_string).collect())
            }
            _ => Ok(dataset.read_i64().map_err(damaged)?.iter().map(ToString::to_string).collect()),
        }
    }

    fn members(group: &Group) -> String {
        listed(names_in(group).iter().map(String::as_str))
    }

    fn names_in(group: &Group) -> Vec<String> {
        let mut names = group.datasets().unwrap_or_default();
        names.extend(group.groups().unwrap_or_default());
        names.sort();
        names
    }

    /// A matrix stored as such.
    fn dense(dataset: &Dataset, name: &str) -> Result<Array2<f64>, Problem> {
        let shape = dataset.shape().map_err(damaged)?;
        let [n_rows, n_columns] = shape[..] else {
            return Err(Problem::NotAMatrix { name: name.to_owned(), dimensions: shape.len() });
        };
        let values = numbers(dataset, name)?;
        Array2::from_shape_vec((n_rows as usize, n_columns as usize), values).map_err(damaged)
    }

    /// A matrix in compressed rows or columns, zeros filled in.
    fn sparse(group: &Group, name: &str) -> Result<Array2<f64>, Problem> {
        let attrs = group.attrs().map_err(damaged)?;
        let bad =
            |reason: &str| Problem::Damaged { format: "sparse matrix", reason: reason.into() };
        let list = |part: &str| -> Result<Vec<usize>, Problem> {
            let values = group.dataset(part).and_then(|d| d.read_i64()).map_err(damaged)?;
            Ok(values.into_iter().map(|x| usize::try_from(x).unwrap_or(usize::MAX)).collect())
        };
        let by_column;
        let (shape, starts, indices) = if let Some(n_rows) = attrs.get("MATLAB_sparse") {
            by_column = true;
            let n_rows = integers(n_rows).ok_or_else(|| bad("it has no number of rows"))?;
            let starts = list("jc")?;
            // Without entries there are neither rows nor values.
            let indices = if group.dataset("ir").is_ok() { list("ir")? } else { Vec::new() };
            ([n_rows, vec![starts.len().saturating_sub(1)]].concat(), starts, indices)
        } else {
            let encoding = attrs.get("encoding-type").and_then(text);
            by_column = encoding.is_some_and(|encoding| encoding == "csc_matrix");
            let shape = attrs.get("shape").and_then(integers);
            let shape = shape.ok_or_else(|| not_read(name, "group"))?;
            (shape, list("indptr")?, list("indices")?)
        };
        let data = match group.dataset("data") {
            Err(_) if indices.is_empty() => Vec::new(),
            data => numbers(&data.map_err(damaged)?, name)?,
        };
        let [n_rows, n_columns] = shape[..] else { return Err(bad("its shape is not n by m")) };
        let n_lines = if by_column { n_columns } else { n_rows };
        if starts.len().checked_sub(1) != Some(n_lines) || indices.len() != data.len() {
            return Err(bad("its parts disagree in length"));
        }
        // With the zeros filled in it must be a possible array.
        let bytes = n_rows.checked_mul(n_columns).and_then(|n| n.checked_mul(size_of::<f64>()));
        if bytes.is_none_or(|bytes| isize::try_from(bytes).is_err()) {
            return Err(bad("its shape is too large"));
        }
        let mut values = Array2::zeros((n_rows, n_columns));
        for line in 0..n_lines {
            let entries = starts[line]..starts[line + 1];
            if entries.start > entries.end || entries.end > data.len() {
                return Err(bad("its row starts are out of order"));
            }
            for entry in entries {
                let at = if by_column { [indices[entry], line] } else { [line, indices[entry]] };
                *values.get_mut(at).ok_or_else(|| bad("an index is out of range"))? = data[entry];
            }
        }
        Ok(values)
    }

    /// MATLAB's variables, or the plain matrices of any HDF5 file. MATLAB stores a matrix column by
    /// column, so that it reads as its transpose.
    fn matrices(
        root: &Group,
        source: &ViewSource,
        options: &ReadOptions,
    ) -> Result<Vec<Table>, Problem> {
        let names = names_in(root);
        let (mut tables, mut vectors) = (Vec::new(), std::collections::HashMap::new());
        let ids_name = options.id.as_deref().unwrap_or("ids");
        for name in &names {
            let asked = source.member.as_ref() == Some(name);
            let Ok(dataset) = root.dataset(name) else {
                let group = root.group(name).map_err(damaged)?;
                let is_sparse = is_matlab_sparse(&group)?;
                if asked || (is_sparse && source.member.is_none()) {
                    tables.push((name.clone(), sparse(&group, name)?));
                }
                continue;
            };
            let class = class_of(&dataset)?;
            let is_vector = *name == ids_name || options.label.as_ref() == Some(name);
            if is_vector {
                vectors.insert(name.clone(), vector(&dataset, class.as_deref())?);
            } else if source.member.is_some() && !asked {
            } else if class.as_deref() == Some("cell") {
                let cells = dataset.dereference().map_err(damaged)?;
                for (index, cell) in cells.iter().enumerate() {
                    let name = format!("{name}{index}");
                    // Cells of text and of single numbers are no views.
                    let values = match cell {
                        Object::Group(cell) if is_matlab_sparse(cell)? => sparse(cell, &name)?,
                        Object::Dataset(cell)
                            if is_matrix(cell)? && class_of(cell)?.as_deref() != Some("char") =>
                        {
                            dense(cell, &name)?.reversed_axes()
                        }
                        _ => continue,
                    };
                    tables.push((name, values));
                }
            } else if asked || (is_matrix(&dataset)? && class.as_deref() != Some("char")) {
                let matrix = dense(&dataset, name)?;
                tables.push((
                    name.clone(),
                    if class.is_some() { matrix.reversed_axes() } else { matrix },
                ));
            }
        }
        if let Some(member) = source.member.as_ref().filter(|member| !names.contains(member)) {
            return Err(Problem::NoMember { name: member.clone(), there: members(root) });
        }
        if tables.is_empty() {
            return Err(Problem::NoMatrix { there: members(root) });
        }
        if let Some(id) = options.id.as_ref().filter(|id| !vectors.contains_key(*id)) {
            return Err(Problem::NoMember { name: id.clone(), there: members(root) });
        }
        let ids = vectors.get(ids_name).cloned();
        let labels = options.label.as_ref().and_then(|label| vectors.get(label).cloned());
        let table = |(name, values): (String, Array2<f64>)| Table {
            name,
            path: source.path.clone(),
            ids: ids.clone(),
            labels: labels.clone(),
            features: numbered(values.ncols()),
            values: values.as_standard_layout().into_owned(),
        };
        Ok(tables.into_iter().map(table).collect())
    }

    fn is_matrix(dataset: &Dataset) -> Result<bool, Problem> {
        Ok(dataset.shape().map_err(damaged)?.iter().filter(|&&n| n > 1).count() == 2)
    }

    fn is_matlab_sparse(group: &Group) -> Result<bool, Problem> {
        Ok(group.attrs().map_err(damaged)?.contains_key("MATLAB_sparse"))
    }

    /// What MATLAB calls the type of an array.
    fn class_of(dataset: &Dataset) -> Result<Option<String>, Problem> {
        Ok(dataset.attrs().map_err(damaged)?.get("MATLAB_class").and_then(text))
    }

    /// A vector of names: numbers, strings, or MATLAB's cells of characters.
    fn vector(dataset: &Dataset, class: Option<&str>) -> Result<Vec<String>, Problem> {
        if class != Some("cell") {
            return names(dataset);
        }
        let characters = |cell: &Object| match cell {
            Object::Dataset(cell) => {
                let codes = cell.read_u16().map_err(damaged)?;
                Ok(String::from_utf16_lossy(&codes))
            }
            _ => Ok(String::new()),
        };
        dataset.dereference().map_err(damaged)?.iter().map(characters).collect()
    }

    fn numbers(dataset: &Dataset, name: &str) -> Result<Vec<f64>, Problem> {
        use DType::{Enum, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
        match dataset.dtype().map_err(damaged)? {
            F32 | F64 | I8 | I16 | I32 | I64 | U8 | U16 | U32 | U64 => {
                dataset.read_f64().map_err(damaged)
            }
            // The truth values of h5py.
            Enum(words) if words == ["FALSE", "TRUE"] => dataset.read_f64().map_err(damaged),
            other => Err(not_read(name, &other.to_string())),
        }
    }

    fn not_read(name: &str, kind: &str) -> Problem {
        Problem::ElementType { name: name.to_owned(), kind: kind.to_owned() }
    }

    fn text(value: &AttrValue) -> Option<String> {
        value.as_str().map(str::to_owned)
    }

    fn integers(value: &AttrValue) -> Option<Vec<usize>> {
        let convert = |x: i64| usize::try_from(x).ok();
        match value {
            AttrValue::I64Array(values) => values.iter().map(|&x| convert(x)).collect(),
            AttrValue::I32Array(values) => values.iter().map(|&x| convert(x.into())).collect(),
            AttrValue::I64(value) => Some(vec![convert(*value)?]),
            AttrValue::U64(value) => Some(vec![*value as usize]),
            AttrValue::U64Array(values) => Some(values.iter().map(|&x| x as usize).collect()),
            _ => None,
        }
    }

    fn damaged(error: impl std::fmt::Display) -> Problem {
        let reason = error.to_string().lines().next().unwrap_or_default().to_owned();
        Problem::Damaged { format: "HDF5 file", reason }
    }
}

#[cfg(test)]
#[cfg(feature = "hdf5")]
mod tests {
    use super::super::{TableError, read_views};
    use super::*;
    use hdf5_pure::{AttrValue, EnumTypeBuilder, FileBuilder};
    use ndarray::array;

    fn text(value: &str) -> AttrValue {
        AttrValue::VarLenString(value.into())
    }

    /// A MuData file as Python writes it: a block of text before the HDF5, text attributes of variable
    /// length, an index with a name of its own, a matrix in compressed columns.
    fn mu_data() -> Vec<u8> {
        let mut file = FileBuilder::new();
        file.with_userblock(512).with_userblock_content(b"MuData (format-version=0.1.0)");
        let mut modalities = file.create_group("mod");
        for (name, ids) in [("rna", ["a", "b"]), ("atac", ["c", "b"])] {
            let mut modality = modalities.create_group(name);
            for (frame, names) in [("obs", &ids[..]), ("var", &["x", "y", "z"])] {
                let mut group = modality.create_group(frame);
                group.set_attr("_index", text("id"));
                group.create_dataset("id").with_vlen_strings(names);
                modality.add_group(group.finish());
            }
            if name == "rna" {
                let x = modality.create_dataset("X");
                x.with_f64_data(&[1., 2., 3., 4., 5., 6.]).with_shape(&[2, 3]);
            } else {
                let mut x = modality.create_group("X");
                x.set_attr("encoding-type", text("csc_matrix"));
                x.set_attr("shape", AttrValue::I64Array(vec![2, 3]));
                x.create_dataset("data").with_f64_data(&[7., 8., 9.]);
                x.create_dataset("indices").with_i32_data(&[1, 0, 1]);
                x.create_dataset("indptr").with_i32_data(&[0, 1, 1, 3]);
                modality.add_group(x.finish());
            }
            let mut layers = modality.create_group("layers");
            let counts = layers.create_dataset("counts");
            counts.with_f64_data(&[0., 0., 1., 1., 0., 2.]).with_shape(&[2, 3]);
            modality.add_group(layers.finish());
            modalities.add_group(modality.finish());
        }
        file.add_group(modalities.finish());
        file.finish().expect("a file in memory")
    }

    fn read_bytes(
        bytes: Vec<u8>,
        member: Option<&str>,
        options: &ReadOptions,
    ) -> Result<Vec<Table>, TableError> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("both.h5mu");
        std::fs::write(&path, bytes).expect("room for a file");
        let source = ViewSource { name: None, path, member: member.map(str::to_owned) };
        read_views(&source, options)
    }

    fn read_member(member: Option<&str>) -> Result<Vec<Table>, TableError> {
        read_bytes(mu_data(), member, &ReadOptions::default())
    }

    #[test]
    fn truth_values_are_numbers_and_nullable_columns_hide_what_their_mask_hides() {
        let mut file = FileBuilder::new();
        let truth = EnumTypeBuilder::u8_based().u8_value("FALSE", 0).u8_value("TRUE", 1).build();
        let x = file.create_dataset("X");
        x.with_enum_u8_data(truth.expect("two words"), &[0, 1, 1, 0]).with_shape(&[2, 2]);
        for (frame, names) in [("obs", ["a", "b"]), ("var", ["x", "y"])] {
            let mut group = file.create_group(frame);
            group.set_attr("_index", text("id"));
            let mut id = group.create_group("id");
            id.create_dataset("values").with_vlen_strings(&names);
            id.create_dataset("mask").with_i8_data(&[0, 0]);
            group.add_group(id.finish());
            let mut age = group.create_group("age");
            age.create_dataset("values").with_i64_data(&[52, 1]);
            age.create_dataset("mask").with_i8_data(&[0, 1]);
            group.add_group(age.finish());
            file.add_group(group.finish());
        }
        let options = ReadOptions { label: Some("age".into()), ..ReadOptions::default() };
        let tables = read_bytes(file.finish().expect("a file in memory"), None, &options).unwrap();
        let [table] = <[Table; 1]>::try_from(tables).unwrap();
        assert_eq!(table.values, array![[0., 1.], [1., 0.]]);
        assert_eq!(
            (table.ids.unwrap(), table.features),
            (vec!["a".into(), "b".into()], vec!["x".into(), "y".into()])
        );
        assert_eq!(table.labels.unwrap(), ["52", ""]);
    }

    #[test]
    fn sparse_matrices_of_matlab_are_views_and_other_groups_are_not() {
        let mut file = FileBuilder::new();
        let mut sparse = file.create_group("s");
        sparse.set_attr("MATLAB_sparse", AttrValue::U64(2));
        sparse.create_dataset("data").with_f64_data(&[7., 8., 9.]);
        sparse.create_dataset("ir").with_u64_data(&[1, 0, 1]);
        sparse.create_dataset("jc").with_u64_data(&[0, 1, 1, 3]);
        file.add_group(sparse.finish());
        let mut settings = file.create_group("t");
        settings.create_dataset("k").with_f64_data(&[3.]);
        file.add_group(settings.finish());
        let bytes = file.finish().expect("a file in memory");
        let read = |member| read_bytes(bytes.clone(), member, &ReadOptions::default());
        for member in [None, Some("s")] {
            let [table] = <[Table; 1]>::try_from(read(member).unwrap()).unwrap();
            assert_eq!(table.values, array![[0., 0., 8.], [7., 0., 9.]]);
        }
        let message = read(Some("t")).unwrap_err().to_string();
        assert!(message.contains("`t` holds values of type group"), "{message}");
    }

    #[test]
    fn every_modality_is_a_view_and_sparse_columns_are_filled_with_zeros() {
        let [atac, rna] = <[Table; 2]>::try_from(read_member(None).unwrap()).unwrap();
        assert_eq!((atac.name.as_str(), rna.name.as_str()), ("atac", "rna"));
        assert_eq!(rna.ids.unwrap(), ["a", "b"]);
        assert_eq!(rna.features, ["x", "y", "z"]);
        assert_eq!(rna.values, array![[1., 2., 3.], [4., 5., 6.]]);
        assert_eq!(atac.values, array![[0., 0., 8.], [7., 0., 9.]]);
    }

    #[test]
    fn a_member_names_a_modality_or_one_of_its_layers() {
        assert_eq!(read_member(Some("rna")).unwrap()[0].features, ["x", "y", "z"]);
        let counts = read_member(Some("atac/counts")).unwrap();
        assert_eq!(counts[0].values, array![[0., 0., 1.], [1., 0., 2.]]);
        let message = read_member(Some("rna/raw")).unwrap_err().to_string();
        assert!(message.ends_with("no member `raw`; there are: `counts`"), "{message}");
    }
}
