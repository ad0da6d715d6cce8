//! Tables of samples for a model: finds views by name, orders columns, and reports unusual values.

use crate::numbers::short;
use crate::tables::{Joined, Table, TableError, join_new, listed_up_to};
use crate::{NamedModel, training_set};
use cdimc_data::Standardizer;
use std::collections::{HashMap, HashSet};

/// Distance from the training mean, in standard deviations, above which a value is reported. Heavy tails rarely reach
/// so far; another unit does.
const FAR: f64 = 30.0;
/// Maximum number of names in a message.
const LISTED: usize = 5;

impl NamedModel {
    /// Joins tables of new samples. A table belongs to the view of the same name, or to the only view. Returns the samples
    /// and the views of the model.
    ///
    /// Columns are put in the model's order; a single missing cell takes the mean of the training samples,
    /// or is refused if `strict`. Unusual values are among the warnings.
    ///
    /// # Errors
    /// If a table is not a view of the model or lacks a column, or as [`join_new`].
    pub fn join(
        &self,
        tables: Vec<Table>,
        strict: bool,
    ) -> Result<(Joined, Vec<usize>), TableError> {
        let (mut joined, which) = self.arrange(tables, strict)?;
        let standardizers = self.model.standardizers();
        let far =
            |(given, &view): (usize, &usize)| far_values(&joined, given, &standardizers[view]);
        let warnings: Vec<String> = which.iter().enumerate().filter_map(far).collect();
        joined.warnings.extend(warnings);
        Ok((joined, which))
    }

    /// Same as [`join`](Self::join), without a check for unusual values.
    ///
    /// # Errors
    /// Same as [`join`](Self::join).
    pub fn arrange(
        &self,
        mut tables: Vec<Table>,
        strict: bool,
    ) -> Result<(Joined, Vec<usize>), TableError> {
        let (which, warnings) = self.recognize(&mut tables)?;
        let standardizers = self.model.standardizers();
        let means: Vec<&[f64]> =
            which.iter().map(|&view| standardizers[view].mean.as_slice()).collect();
        let names: Vec<String> = tables.iter().map(|table| table.name.clone()).collect();
        let mut joined = join_new(tables, strict, &means)?;
        joined.warnings.extend(warnings);
        let (there, absent): (Vec<_>, Vec<_>) =
            which.into_iter().zip(&names).partition(|(_, name)| joined.names.contains(name));
        let line = |(_, name)| format!("view {name}: none of the samples has a value in it");
        joined.warnings.extend(absent.into_iter().map(line));
        Ok((joined, there.into_iter().map(|(view, _)| view).collect()))
    }

    /// Joins the tables of the training samples as [`training_set()`] did, in any order of tables and columns. A table
    /// belongs to the view of the same name, or to the only view.
    ///
    /// # Errors
    /// If a table is not a view of the model or lacks a column, a view is missing, or as [`training_set()`].
    pub fn training_set(&self, mut tables: Vec<Table>, strict: bool) -> Result<Joined, TableError> {
        let (which, warnings) = self.recognize(&mut tables)?;
        if let Some(missing) = (0..self.views.len()).find(|view| !which.contains(view)) {
            let (name, known) = (&self.views[missing].name, self.known());
            let message =
                format!("the model's view `{name}` is not there: its training had {known}");
            return Err(message.into());
        }
        let mut of_view: Vec<(usize, Table)> = which.into_iter().zip(tables).collect();
        of_view.sort_by_key(|&(view, _)| view);
        let mut joined =
            training_set(of_view.into_iter().map(|(_, table)| table).collect(), strict)?;
        joined.warnings.extend(warnings);
        Ok(joined)
    }

    /// Puts the columns of every table in the model's order; also returns which view each is, and which columns were
    /// left out.
    fn recognize(&self, tables: &mut [Table]) -> Result<(Vec<usize>, Vec<String>), TableError> {
        let only_one = tables.len() == 1 && self.views.len() == 1;
        let (mut which, mut warnings) = (Vec::with_capacity(tables.len()), Vec::new());
        for table in tables {
            let named = self.views.iter().position(|view| view.name == table.name);
            let unknown = || {
                let (file, name, known) = (table.path.display(), &table.name, self.known());
                format!(
                    "{file}: the model has no view `{name}`; it has {known}: choose one with NAME=FILE"
                )
            };
            let view = named.or(only_one.then_some(0)).ok_or_else(unknown)?;
            warnings.extend(order_columns(table, &self.views[view].features)?);
            which.push(view);
        }
        Ok((which, warnings))
    }

    /// Returns the names of the model's views for a message.
    fn known(&self) -> String {
        let names: Vec<&str> = self.views.iter().map(|view| view.name.as_str()).collect();
        names.join(", ")
    }
}

/// Puts the columns of `table` in the model's order, by name. Unknown columns are left out and named in one line.
pub(crate) fn order_columns(
    table: &mut Table,
    features: &[String],
) -> Result<Option<String>, TableError> {
    if table.features == features {
        return Ok(None);
    }
    let file = table.path.display();
    let column_of: HashMap<&String, usize> = table.features.iter().zip(0..).collect();
    let missing: Vec<&String> =
        features.iter().filter(|name| !column_of.contains_key(name)).collect();
    let known: HashSet<&String> = features.iter().collect();
    let unknown: Vec<&String> =
        table.features.iter().filter(|name| !known.contains(name)).collect();
    if !missing.is_empty() {
        let also = match unknown.as_slice() {
            [] => String::new(),
            unknown => format!("; unknown to the model: {}", listed_up_to(LISTED, unknown)),
        };
        return Err(format!(
            "{file}: lacks {} of the {} columns of the model's view `{}`: {}{also}",
            missing.len(),
            features.len(),
            table.name,
            listed_up_to(LISTED, &missing)
        )
        .into());
    }
    let (n, names) = (unknown.len(), listed_up_to(LISTED, &unknown));
    let warning = (n > 0)
        .then(|| format!("{file}: columns unknown to the model are left out ({n}): {names}"));
    let order: Vec<usize> = features.iter().map(|feature| column_of[feature]).collect();
    table.values = table.values.select_columns(&order);
    table.features = features.to_vec();
    Ok(warning)
}

/// Returns one line about values of view `given` that are far from all training values.
fn far_values(joined: &Joined, given: usize, trained: &Standardizer) -> Option<String> {
    let (values, mask) = (joined.data.matrix(given), joined.data.mask());
    let off = |column: usize, value: f64| {
        // For a constant column, the mean is the only available scale.
        let scale = trained.scale[column];
        let unit = if scale > 0.0 { scale } else { trained.mean[column].abs() };
        (value - trained.mean[column]).abs() / unit
    };
    let (mut found, mut buffer) = (Vec::new(), Vec::new());
    for i in mask.observed_rows(given) {
        let row = values.row(i, &mut buffer).iter().enumerate();
        let of_row = row.map(|(j, &value)| (off(j, value), i, j));
        found.extend(of_row.filter(|&(off, ..)| off > FAR));
    }
    let &(_, i, j) = found.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(format!(
        "view {}: are the units the same? {} values are more than {FAR} standard deviations from the mean of training, \
         farthest `{}` of sample {}, {} against {} +- {}",
        joined.names[given],
        found.len(),
        joined.features[given][j],
        joined.ids[i],
        values[[i, j]],
        short(trained.mean[j]),
        short(trained.scale[j])
    ))
}
