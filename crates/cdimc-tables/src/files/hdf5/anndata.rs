//! Reads `AnnData` (`.h5ad`) and `MuData` (`.h5mu`): a matrix, and data frames that name its rows and columns.
//!
//! The view of an `AnnData` is `X`; a member selects one of its `layers` or `obsm`, a matrix or a data frame. Every
//! modality of a `MuData` is a view; a member selects one, or a matrix of one as `MODALITY/LAYER`.

use crate::Table;
use crate::error::{Flaw, Problem, ensure, not_read};
use crate::files::format::Request;
use crate::files::hdf5_file::{AttrValue, Dataset, Group, Hdf5File, if_there};
use cdimc_data::Matrix;
use ndarray::Array2;

/// Reads a file that is one `AnnData`.
pub(crate) fn read(file: &Hdf5File, request: Request<'_>) -> Result<Table, Problem> {
    let layer = request.source.member.as_deref();
    let name = layer.map_or_else(|| request.source.stem(), str::to_owned);
    AnnData { file, group: &file.root() }.table(&name, layer, request)
}

/// Reads every modality of a `MuData`, or the selected one.
pub(crate) fn read_modalities(
    file: &Hdf5File,
    request: Request<'_>,
) -> Result<Vec<Table>, Problem> {
    let modalities = file.root().group("mod")?;
    let mut names = modalities.groups()?;
    names.sort();
    let member = request.source.member.as_deref();
    let (modality, layer) = match member.and_then(|member| member.split_once('/')) {
        Some((modality, layer)) => (Some(modality), Some(layer)),
        None => (member, None),
    };
    if let Some(modality) = modality {
        if !names.iter().any(|name| name == modality) {
            return Err(Problem::no_member(modality, &names));
        }
        names.retain(|name| name == modality);
    }
    let table = |name: String| {
        let group = modalities.group(&name)?;
        AnnData { file, group: &group }.table(&name, layer, request)
    };
    names.into_iter().map(table).collect()
}

/// A group with one `AnnData`.
#[derive(Clone, Copy)]
struct AnnData<'a> {
    file: &'a Hdf5File,
    group: &'a Group,
}

impl AnnData<'_> {
    /// Reads `X` or another matrix, with row names from `obs` and column names from `var`.
    fn table(
        self,
        name: &str,
        layer: Option<&str>,
        Request { options, .. }: Request<'_>,
    ) -> Result<Table, Problem> {
        let part = |part: &str, name: &str| {
            let part = if_there(self.group.group(part))?;
            part.map_or(Ok(None), |part| self.matrix(&part, name))
        };
        let no_such = |name: &str| {
            let parts = ["layers", "obsm"].into_iter().filter_map(|p| self.group.group(p).ok());
            let there: Vec<String> =
                parts.flat_map(|part| Hdf5File::names(&part).unwrap_or_default()).collect();
            Problem::no_member(name, &there)
        };
        // Column names come from `var`; a data frame has its own, other matrices have none.
        let (values, own) = match layer {
            None => (self.matrix(self.group, "X")?.ok_or_else(|| no_such("X"))?, None),
            Some(layer) => match part("layers", layer)? {
                Some(values) => (values, None),
                None => match self.numbers_of_frame(layer)? {
                    Some((values, names)) => (values, Some(names)),
                    None => (part("obsm", layer)?.ok_or_else(|| no_such(layer))?, Some(Vec::new())),
                },
            },
        };
        let frame = |name: &str| {
            let missing = |_| Flaw::from(format!("its table `{name}` is missing or damaged"));
            self.group.group(name).map_err(missing)
        };
        let obs = frame("obs")?;
        let ids = match &options.id {
            Some(id) => self.column(&obs, id)?.ok_or_else(|| {
                Problem::no_column(id, &Hdf5File::names(&obs).unwrap_or_default())
            })?,
            None => self.index(&obs, "obs")?,
        };
        let labels = options.label.as_ref().map_or(Ok(None), |label| self.column(&obs, label))?;
        let has_var = own.is_none();
        let features = own.map_or_else(|| self.index(&frame("var")?, "var"), Ok)?;
        let (n, m) = (features.len(), values.ncols());
        if has_var && n != m {
            return Err(Flaw(format!("{n} names in `var`, {m} columns in the matrix")).into());
        }
        Ok(Table { ids: Some(ids), labels, features, ..Table::new(name, values) })
    }

    /// Reads the matrix `name` of a group, dense or sparse, if present.
    fn matrix(self, group: &Group, name: &str) -> Result<Option<Matrix>, Flaw> {
        if let Some(matrix) = if_there(group.dataset(name))? {
            let values = self.file.matrix(&matrix, name)?;
            return Ok(Some(values.into()));
        }
        let sparse = if_there(group.group(name))?;
        let values = sparse.map(|matrix| self.file.sparse(&matrix, name)).transpose()?;
        Ok(values.map(Into::into))
    }

    /// Reads the numbers and column names of a data frame in `obsm`, if present.
    fn numbers_of_frame(self, name: &str) -> Result<Option<(Matrix, Vec<String>)>, Flaw> {
        let obsm = if_there(self.group.group("obsm"))?;
        let frame = obsm.map_or(Ok(None), |obsm| if_there(obsm.group(name)))?;
        let Some(frame) = frame else { return Ok(None) };
        let attrs = frame.attrs()?;
        if attrs.get("encoding-type").and_then(AttrValue::as_str) != Some("dataframe") {
            return Ok(None);
        }
        let missing = || Flaw::from(format!("the order of columns of `{name}` is missing"));
        let columns =
            attrs.get("column-order").and_then(AttrValue::as_strings).ok_or_else(missing)?;
        let mut values = Vec::new();
        for column in columns {
            let path = format!("{name}/{column}");
            if let Some(dataset) = if_there(frame.dataset(column))? {
                values.extend(self.file.numbers(&dataset, &path)?);
                continue;
            }
            // Values with a mask.
            let words = self.column(&frame, column)?.ok_or_else(|| not_read(&path, "none"))?;
            for word in words {
                let number = if word.is_empty() { Ok(f64::NAN) } else { word.parse() };
                values.push(number.map_err(|_| not_read(&path, "text"))?);
            }
        }
        let n_rows = values.len() / columns.len().max(1);
        let by_column = Array2::from_shape_vec((columns.len(), n_rows), values)
            .map_err(|_| Flaw::from(format!("the columns of `{name}` have different lengths")))?;
        let values = by_column.reversed_axes().as_standard_layout().into_owned();
        Ok(Some((values.into(), columns.to_vec())))
    }

    /// Reads the column of a data frame that names its rows.
    fn index(self, frame: &Group, frame_name: &str) -> Result<Vec<String>, Flaw> {
        let attrs = frame.attrs()?;
        let name = attrs.get("_index").and_then(AttrValue::as_str).unwrap_or("_index");
        let missing = || Flaw::from(format!("the index `{name}` of `{frame_name}` is missing"));
        self.column(frame, name)?.ok_or_else(missing)
    }

    /// Reads a column of a data frame as text: strings, numbers, categories with codes, or values with a mask. No deeper
    /// nesting is read, since links could form a circle.
    fn column(self, frame: &Group, name: &str) -> Result<Option<Vec<String>>, Flaw> {
        if let Some(column) = if_there(frame.dataset(name))? {
            // Version 0.7 stores the categories of all columns in one group.
            let of_all = if_there(frame.group("__categories"))?;
            let categories = of_all.map_or(Ok(None), |group| self.file.words_in(&group, name))?;
            return Ok(Some(match categories {
                Some(categories) => self.decoded(&column, &categories, name)?,
                None => self.file.words(&column)?,
            }));
        }
        let Some(parts) = if_there(frame.group(name))? else { return Ok(None) };
        if let Some(values) = self.masked(&parts, name)? {
            return Ok(Some(values));
        }
        let categories = match self.file.words_in(&parts, "categories")? {
            Some(categories) => categories,
            None => {
                let group = if_there(parts.group("categories"))?;
                let categories = group.map_or(Ok(None), |group| self.masked(&group, name))?;
                categories.ok_or_else(|| not_read(name, "group"))?
            }
        };
        self.decoded(&parts.dataset("codes")?, &categories, name).map(Some)
    }

    /// Reads the values of a group with a mask as text, empty where they are hidden, or `None` for another group.
    fn masked(self, group: &Group, name: &str) -> Result<Option<Vec<String>>, Flaw> {
        let Some(values) = self.file.words_in(group, "values")? else { return Ok(None) };
        let mask = self.file.integers(&group.dataset("mask")?)?;
        ensure!(mask.len() == values.len(), "column `{name}`: its mask has another length");
        let shown = |(word, hidden)| if hidden == 0 { word } else { String::new() };
        Ok(Some(values.into_iter().zip(mask).map(shown).collect()))
    }

    /// Returns the category of each code; a negative code is a missing value.
    fn decoded(
        self,
        codes: &Dataset,
        categories: &[String],
        name: &str,
    ) -> Result<Vec<String>, Flaw> {
        let n = categories.len();
        let word = |code: i64| match usize::try_from(code) {
            Err(_) => Ok(String::new()),
            Ok(place) => categories
                .get(place)
                .cloned()
                .ok_or_else(|| Flaw(format!("column `{name}`: category {code} of {n}"))),
        };
        self.file.integers(codes)?.into_iter().map(word).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{read, refused, tables};
    use hdf5_pure::{AttrValue, EnumTypeBuilder, FileBuilder, FinishedGroup, GroupBuilder};

    fn text(value: &str) -> AttrValue {
        AttrValue::VarLenString(value.into())
    }

    /// Returns a data frame with these row names.
    fn frame(mut group: GroupBuilder, names: &[&str]) -> GroupBuilder {
        group.set_attr("_index", text("id"));
        group.create_dataset("id").with_vlen_strings(names);
        group
    }

    /// Returns numbers with a mask.
    fn hidden(mut group: GroupBuilder, values: &[i64], mask: &[i8]) -> FinishedGroup {
        group.create_dataset("values").with_i64_data(values);
        group.create_dataset("mask").with_i8_data(mask);
        group.finish()
    }

    /// Returns a MuData file as Python writes it: a block of text before the HDF5, attributes of variable length, an
    /// index with its own name, a matrix in compressed columns.
    fn mu_data() -> Vec<u8> {
        let mut file = FileBuilder::new();
        file.with_userblock(512).with_userblock_content(b"MuData (format-version=0.1.0)");
        let mut modalities = file.create_group("mod");
        for (name, ids) in [("rna", ["a", "b"]), ("atac", ["c", "b"])] {
            let mut modality = modalities.create_group(name);
            for (name, names) in [("obs", &ids[..]), ("var", &["x", "y", "z"])] {
                let group = frame(modality.create_group(name), names);
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
        file.finish().unwrap()
    }

    #[test]
    fn every_modality_is_a_view_and_a_member_selects_one_or_a_layer() {
        for (source, expected) in [
            (
                "a.h5mu",
                "atac | c b | - | x/y/z | 0 0 8; 7 0 9\nrna | a b | - | x/y/z | 1 2 3; 4 5 6",
            ),
            ("a.h5mu#rna", "rna | a b | - | x/y/z | 1 2 3; 4 5 6"),
            ("a.h5mu#atac/counts", "atac | c b | - | x/y/z | 0 0 1; 1 0 2"),
        ] {
            assert_eq!(read(source, mu_data(), "").unwrap(), expected);
        }
        let both = tables("a.h5mu", mu_data(), "").unwrap();
        assert_eq!([0, 1].map(|view| both[view].values.sparse().is_some()), [true, false]);
        refused(read("a.h5mu#rna/raw", mu_data(), ""), "no member `raw`; there are: `counts`$");
    }

    #[test]
    fn booleans_are_numbers_and_masked_cells_are_missing() {
        let mut file = FileBuilder::new();
        let truth = EnumTypeBuilder::u8_based().u8_value("FALSE", 0).u8_value("TRUE", 1).build();
        let x = file.create_dataset("X");
        x.with_enum_u8_data(truth.unwrap(), &[0, 1, 1, 0]).with_shape(&[2, 2]);
        for (name, names) in [("obs", ["a", "b"]), ("var", ["x", "y"])] {
            let mut group = file.create_group(name);
            group.set_attr("_index", text("id"));
            let mut id = group.create_group("id");
            id.create_dataset("values").with_vlen_strings(&names);
            id.create_dataset("mask").with_i8_data(&[0, 0]);
            group.add_group(id.finish());
            let age = hidden(group.create_group("age"), &[52, 1], &[0, 1]);
            group.add_group(age);
            file.add_group(group.finish());
        }
        let found = read("a.h5ad", file.finish().unwrap(), "label=age").unwrap();
        assert_eq!(found, "a | a b | 52  | x/y | 0 1; 1 0");
    }

    #[test]
    fn categories_of_version_0_7_are_read_as_words() {
        let mut file = FileBuilder::new();
        file.create_dataset("X").with_f64_data(&[1., 2., 3.]).with_shape(&[3, 1]);
        let mut obs = frame(file.create_group("obs"), &["0", "1", "2"]);
        obs.create_dataset("patient").with_i8_data(&[1, 0, 2]);
        obs.create_dataset("kind").with_i8_data(&[0, -1, 0]);
        let mut categories = obs.create_group("__categories");
        categories.create_dataset("patient").with_vlen_strings(&["p7", "p8", "p9"]);
        categories.create_dataset("kind").with_vlen_strings(&["B"]);
        obs.add_group(categories.finish());
        file.add_group(obs.finish());
        let var = frame(file.create_group("var"), &["x"]);
        file.add_group(var.finish());
        let found = read("a.h5ad", file.finish().unwrap(), "id=patient label=kind").unwrap();
        assert_eq!(found, "a | p8 p7 p9 | B  B | x | 1; 2; 3");
    }

    #[test]
    fn a_data_frame_of_obsm_is_a_view_with_its_own_column_names() {
        let mut file = FileBuilder::new();
        file.create_dataset("X").with_f64_data(&[1., 2.]).with_shape(&[2, 1]);
        for (name, names) in [("obs", &["a", "b"][..]), ("var", &["x"])] {
            let group = frame(file.create_group(name), names);
            file.add_group(group.finish());
        }
        let mut obsm = file.create_group("obsm");
        let mut proteins = frame(obsm.create_group("protein"), &["a", "b"]);
        proteins.set_attr("encoding-type", text("dataframe"));
        let order = vec!["CD8".to_owned(), "CD4".to_owned()];
        proteins.set_attr("column-order", AttrValue::VarLenStringArray(order));
        proteins.create_dataset("CD4").with_i64_data(&[3, 4]);
        let cd8 = hidden(proteins.create_group("CD8"), &[52, 1], &[0, 1]);
        proteins.add_group(cd8);
        obsm.add_group(proteins.finish());
        file.add_group(obsm.finish());
        let found = read("a.h5ad#protein", file.finish().unwrap(), "").unwrap();
        assert_eq!(found, "protein | a b | - | CD8/CD4 | 52 3; NaN 4");
    }
}
