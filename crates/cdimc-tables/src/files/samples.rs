//! Maps ids to samples where an id is more than a sample's name: barcodes of aliquots, maps of assays, replicates.

use crate::error::{Problem, ensure, listed};
use crate::files::{ReadOptions, Replicates, is_missing, read_words};
use crate::overlap::advice_on_repeats;
use crate::table::places_by_name;
use crate::{Table, TableError};
use cdimc_data::Matrix;
use ndarray::Array2;
use regex::Regex;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

/// Rule that turns ids into sample names.
///
/// ```
/// use cdimc_tables::{Replicates, SampleNames};
/// let names = SampleNames::by_pattern("^(.{12})", Replicates::Refuse).unwrap();
/// assert_eq!(names.of("TCGA-OR-A5J1-01A-11R-A29S-07"), "TCGA-OR-A5J1");
/// assert_eq!(names.of("control"), "control");
/// ```
#[derive(Debug, Clone)]
pub struct SampleNames {
    source: Source,
    replicates: Replicates,
    /// Rows with matching ids are left out.
    dropped: Option<Regex>,
}

#[derive(Debug, Clone)]
enum Source {
    Ids,
    Pattern(Regex),
    Map {
        path: PathBuf,
        /// Sample of each id, by assay.
        assays: BTreeMap<String, HashMap<String, String>>,
    },
}

impl SampleNames {
    /// Uses ids as names.
    pub fn ids(replicates: Replicates) -> Self {
        Self { source: Source::Ids, replicates, dropped: None }
    }

    /// Names a sample by the first group of a regular expression, or its whole match; other ids stay as they are.
    ///
    /// # Errors
    /// If it is not a regular expression; the message is one line.
    pub fn by_pattern(pattern: &str, replicates: Replicates) -> Result<Self, String> {
        Ok(Self { source: Source::Pattern(regex(pattern)?), replicates, dropped: None })
    }

    /// Also leaves out rows whose original ids match a regular expression.
    ///
    /// # Errors
    /// If it is not a regular expression; the message is one line.
    pub fn without(self, pattern: &str) -> Result<Self, String> {
        Ok(Self { dropped: Some(regex(pattern)?), ..self })
    }

    /// Returns whether the row with this id is left out.
    pub fn drops(&self, id: &str) -> bool {
        self.dropped.as_ref().is_some_and(|dropped| dropped.is_match(id))
    }

    /// Reads a map with the columns `assay`, `primary` and `colname`, as in `MultiAssayExperiment`: id `colname` of
    /// view `assay` belongs to sample `primary`.
    ///
    /// # Errors
    /// If the file cannot be read, lacks a column, or maps an id to two samples.
    pub fn by_map(path: &Path, replicates: Replicates) -> Result<Self, TableError> {
        let words = read_words(path, 0, None)?;
        let column = |name: &str| words.place(name, path).map(|place| &words.columns[place]);
        let (assay, primary, colname) = (column("assay")?, column("primary")?, column("colname")?);
        let mut assays: BTreeMap<String, HashMap<String, String>> = BTreeMap::new();
        for ((assay, primary), colname) in assay.iter().zip(primary).zip(colname) {
            let of_assay = assays.entry(assay.clone()).or_default();
            let earlier = of_assay.insert(colname.clone(), primary.clone());
            if let Some(earlier) = earlier.filter(|earlier| earlier != primary) {
                let reason =
                    format!("`{colname}` of `{assay}` is of `{earlier}` and of `{primary}`");
                return Err(TableError::new(path, reason));
            }
        }
        Ok(Self { source: Source::Map { path: path.into(), assays }, replicates, dropped: None })
    }

    /// Returns the sample of an id, regardless of its view.
    pub fn of<'a>(&self, id: &'a str) -> &'a str {
        let Source::Pattern(regex) = &self.source else { return id };
        let found = regex.captures(id).and_then(|found| found.get(1).or_else(|| found.get(0)));
        found.map(|part| part.as_str()).filter(|name| !name.is_empty()).unwrap_or(id)
    }

    /// Returns whether names come from a pattern that matches none of these ids.
    pub fn match_nothing<'a>(&self, mut ids: impl Iterator<Item = &'a str>) -> bool {
        matches!(&self.source, Source::Pattern(regex) if !ids.any(|id| regex.is_match(id)))
    }

    /// Returns the ids that a pattern does not match, if it matches others and they are not written like its names.
    pub fn unmatched<'a>(&self, ids: &'a [String]) -> Vec<&'a str> {
        let Source::Pattern(regex) = &self.source else { return Vec::new() };
        let ids = ids.iter().map(String::as_str).filter(|id| !self.drops(id));
        let (matched, others): (Vec<&str>, Vec<&str>) = ids.partition(|id| regex.is_match(id));
        let names: HashSet<String> =
            matched.iter().map(|id| without_numbers(self.of(id))).collect();
        let is_odd = |id: &&str| !names.is_empty() && !names.contains(&without_numbers(id));
        others.into_iter().filter(is_odd).collect()
    }

    /// Drops the rows to leave out and renames the others after their samples, one row per sample.
    ///
    /// # Errors
    /// If no row is left, the view has no ids, the map lacks the view or an id, a sample name means "missing", or a
    /// sample has several rows and they are refused.
    pub fn rename(&self, table: &mut Table) -> Result<(), TableError> {
        self.leave_out(table)
            .and_then(|()| self.renamed(table))
            .map_err(|problem| TableError::new(&table.path, problem))
    }

    fn leave_out(&self, table: &mut Table) -> Result<(), Problem> {
        let Some(ids) = table.ids.as_ref().filter(|ids| ids.iter().any(|id| self.drops(id))) else {
            return Ok(());
        };
        let kept: Vec<usize> = (0..ids.len()).filter(|&row| !self.drops(&ids[row])).collect();
        ensure!(!kept.is_empty(), else Problem::AllDropped);
        table.select_rows(&kept);
        Ok(())
    }

    fn renamed(&self, table: &mut Table) -> Result<(), Problem> {
        let by_id = matches!(self.source, Source::Ids);
        if by_id && (self.replicates == Replicates::Refuse || table.ids.is_none()) {
            return Ok(());
        }
        let ids = table.ids.as_ref();
        let ids = ids.ok_or_else(|| "has no ids that could name samples (--id)".to_owned())?;
        let names = ids.iter().map(|id| self.mapped(&table.name, id));
        let names: Vec<String> = names.collect::<Result<_, _>>()?;
        for (name, id) in names.iter().zip(ids) {
            ensure!(
                !is_missing(name, &ReadOptions::default()),
                "`{id}` would be of sample `{name}`: a word for \"missing\" names no sample"
            );
        }
        let mut rows = places_by_name(&names);
        let repeated = rows.iter().filter(|(_, of_sample)| of_sample.len() > 1);
        match (self.replicates, repeated.min_by_key(|(_, of_sample)| of_sample[1])) {
            (Replicates::Refuse, Some((name, of_sample))) => {
                let [first, id] = [0, 1].map(|place| &ids[of_sample[place]]);
                let advice = advice_on_repeats(first, id, ids);
                return Err(Problem::Message(format!(
                    "`{first}` and `{id}` are both of sample `{name}`{advice}"
                )));
            }
            (Replicates::First, _) => {
                rows.iter_mut().for_each(|(_, of_sample)| of_sample.truncate(1));
            }
            _ => {}
        }
        table.values = merged(&table.values, &rows);
        if let Some(labels) = &mut table.labels {
            let known = |of_sample: &Vec<usize>| {
                let mut known = of_sample.iter().map(|&row| &labels[row]);
                known.find(|label| !label.is_empty()).cloned().unwrap_or_default()
            };
            *labels = rows.iter().map(|(_, of_sample)| known(of_sample)).collect();
        }
        table.ids = Some(rows.into_iter().map(|(name, _)| name.to_owned()).collect());
        Ok(())
    }

    /// Returns the sample of an id of `view`.
    fn mapped(&self, view: &str, id: &str) -> Result<String, Problem> {
        let Source::Map { path, assays } = &self.source else { return Ok(self.of(id).to_owned()) };
        let shown = path.display();
        let assay = assays.get(view).ok_or_else(|| {
            let there = listed(assays.keys());
            Problem::Message(format!(
                "no assay `{view}` in {shown}; there are: {there}: name the view after its assay, NAME=FILE"
            ))
        })?;
        let unknown =
            || Problem::Message(format!("no colname `{id}` of assay `{view}` in {shown}"));
        assay.get(id).cloned().ok_or_else(unknown)
    }
}

/// Leaves one feature of each name; returns a warning if there were more.
pub(crate) fn merge_features(table: &mut Table, replicates: Replicates) -> Option<String> {
    let mut by_name = places_by_name(&table.features);
    let n_more = table.features.len() - by_name.len();
    if n_more == 0 {
        return None;
    }
    let mut which = "the mean";
    if replicates == Replicates::First {
        which = "the first feature";
        by_name.iter_mut().for_each(|(_, places)| places.truncate(1));
    }
    table.values = merged(&table.values.transposed(), &by_name).transposed();
    table.features = by_name.iter().map(|(name, _)| (*name).to_owned()).collect();
    Some(format!("{which} counts for each name: {n_more} features have the name of an earlier one"))
}

fn regex(pattern: &str) -> Result<Regex, String> {
    Regex::new(pattern).map_err(|error| {
        // The last line gives the reason.
        let text = error.to_string();
        let reason = text.lines().last().unwrap_or_default().trim_start_matches("error: ");
        format!("`{pattern}` is not a regular expression: {reason}")
    })
}

/// Returns a text with 0 in place of each number.
fn without_numbers(text: &str) -> String {
    let zeros = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c });
    let mut letters: Vec<char> = zeros.collect();
    letters.dedup_by(|a, b| *a == '0' && *b == '0');
    letters.into_iter().collect()
}

/// Returns the means of named groups of rows over measured cells.
fn merged(values: &Matrix, groups: &[(&str, Vec<usize>)]) -> Matrix {
    if groups.iter().all(|(_, rows)| rows.len() == 1) {
        return values.select_rows(&groups.iter().map(|(_, rows)| rows[0]).collect::<Vec<_>>());
    }
    let values = values.dense();
    let mean = |(group, j): (usize, usize)| {
        let there = groups[group].1.iter().map(|&row| values[[row, j]]);
        let there: Vec<f64> = there.filter(|x| !x.is_nan()).collect();
        match there[..] {
            [] => f64::NAN,
            [only] => only,
            _ => there.iter().map(|x| x / there.len() as f64).sum(),
        }
    };
    Array2::from_shape_fn((groups.len(), values.ncols()), mean).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use ndarray::array;

    fn table(ids: &[&str]) -> Table {
        let n = ids.len();
        let labels = (0..n).map(|i| if i == 0 { String::new() } else { format!("c{i}") });
        let ids = ids.iter().map(|&id| id.into()).collect();
        let value = |i, j| if (i, j) == (1, 1) { f64::NAN } else { (i * 2 + j) as f64 };
        let values = Array2::from_shape_fn((n, 2), |(i, j)| value(i, j));
        Table { labels: Some(labels.collect()), ..Table::with_ids("rna", Some(ids), values) }
    }

    #[test]
    fn replicates_are_refused_or_merged_by_name() {
        let ids = ["p1-a", "p1-b", "p2-a", "other"];
        let by = |replicates| SampleNames::by_pattern("^(p[0-9]+)-", replicates).unwrap();
        let message = by(Replicates::Refuse).rename(&mut table(&ids)).unwrap_err().to_string();
        let expected = "rna.csv: `p1-a` and `p1-b` are both of sample `p1`, and differ in `a` and `b`: choose with --replicates \
                        first or mean";
        assert_eq!(message, expected);
        for (replicates, expected) in [
            (Replicates::First, "rna | p1 p2 other |  c2 c3 | f0/f1 | 0 1; 4 5; 6 7"),
            // NaN is ignored.
            (Replicates::Mean, "rna | p1 p2 other | c1 c2 c3 | f0/f1 | 1 1; 4 5; 6 7"),
        ] {
            let mut renamed = table(&ids);
            by(replicates).rename(&mut renamed).unwrap();
            assert_eq!(testing::shown(&renamed), expected);
        }
    }

    #[test]
    fn kinds_of_samples_are_distinguished_from_repeats_and_can_be_left_out() {
        let (kinds, repeats) = ("are kinds of samples", "--replicates");
        for (ids, expected, kept) in [
            (["P1-01A-11R", "P1-11A-11R", "P2-01A-11R"], kinds, "keep `01A`"),
            (["P1-T", "P1-N", "P2-T"], kinds, "--drop-samples '-N$'"),
            (["P1_normal", "P1_tumor", "P2_tumor"], kinds, "keep `tumor`"),
            (["P1T", "P1N", "P2T"], kinds, "--drop-samples '[0-9]N$'"),
            (["P1a", "P1b", "P2a"], repeats, "`P1a` and `P1b`"),
            (["P1-01A", "P1-01B", "P2-01A"], repeats, "`01A` and `01B`"),
            (["P1-rep1", "P1-rep2", "P2-rep1"], repeats, "`rep1` and `rep2`"),
            (["P1-1", "P1-3", "P2-1"], repeats, "`1` and `3`"),
        ] {
            let names = SampleNames::by_pattern("^(P[0-9])", Replicates::Refuse).unwrap();
            let message = names.rename(&mut table(&ids)).unwrap_err().to_string();
            assert!(message.contains(expected) && message.contains(kept), "{message}");
            assert!(expected == repeats || !message.contains(repeats), "{message}");
            let Some((_, pattern)) = message.split_once("--drop-samples '") else { continue };
            let names = names.without(pattern.split('\'').next().unwrap()).unwrap();
            let mut tumors = table(&ids);
            names.rename(&mut tumors).unwrap();
            assert_eq!(tumors.ids.unwrap(), ["P1", "P2"]);
            assert_eq!((tumors.values.nrows(), tumors.labels.unwrap().len()), (2, 2));
        }
        let all = SampleNames::ids(Replicates::Refuse).without("P").unwrap();
        testing::refused(all.rename(&mut table(&["P1", "P2"])), "--drop-samples matches every id$");
    }

    #[test]
    fn ids_that_a_pattern_misses_are_found_unless_they_are_names_already() {
        let ids = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        for (pattern, of, expected) in [
            ("^(.*)_a$", "P1_a P1_b P02_a P02_b", vec!["P1_b", "P02_b"]),
            ("^(.*)_rep[0-9]$", "P1 P1_rep2 P22 P3", vec![]),
            ("^(.{2})", "P1 P2-01 Q3-02", vec![]),
            ("_rna$", "P1_x P2_x", vec![]),
            ("^(P[0-9]+)-", "P1-T P2-T pool", vec!["pool"]),
        ] {
            let names = SampleNames::by_pattern(pattern, Replicates::Refuse).unwrap();
            assert_eq!(names.unmatched(&ids(of)), expected, "{pattern}");
        }
    }

    #[test]
    fn the_mean_of_a_sample_is_over_all_its_rows() {
        let text = "id,x\nA-1,0\nA-1,0\nA-2,3\n";
        let mut table = testing::tables("a.csv", text, "id=id replicates=mean").unwrap().remove(0);
        let names = SampleNames::by_pattern("^(.)", Replicates::Mean).unwrap();
        names.rename(&mut table).unwrap();
        assert_eq!(table.values, array![[1.0]]);
    }

    #[test]
    fn no_sample_is_named_by_a_word_for_missing() {
        let by_pattern = SampleNames::by_pattern("-(.*)$", Replicates::Mean).unwrap();
        let reason = "`b-NA` would be of sample `NA`: a word for \"missing\" names no sample$";
        testing::refused(by_pattern.rename(&mut table(&["a-1", "b-NA"])), reason);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("map.csv");
        std::fs::write(&path, "assay,primary,colname\nrna,p1,a\nrna,,b\n").unwrap();
        let by_map = SampleNames::by_map(&path, Replicates::Refuse).unwrap();
        testing::refused(by_map.rename(&mut table(&["a", "b"])), "`b` would be of sample ``");
    }

    #[test]
    fn a_map_names_the_ids_of_its_assays_and_no_others() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("map.csv");
        let write = |text: &str| std::fs::write(&path, text).unwrap();
        write("\"assay\",\"primary\",\"colname\"\nrna,p1,a\nrna,p2,b\nprotein,p9,a\n");
        let map = || SampleNames::by_map(&path, Replicates::Refuse);
        let names = map().unwrap();
        let mut there = table(&["b", "a"]);
        names.rename(&mut there).unwrap();
        assert_eq!(there.ids.unwrap(), ["p2", "p1"]);
        testing::refused(names.rename(&mut table(&["a", "c"])), "no colname `c` of assay `rna`");
        let mut other = Table { name: "RNA".into(), ..table(&["a"]) };
        let message = names.rename(&mut other).unwrap_err().to_string();
        assert!(message.contains("no assay `RNA`") && message.contains("`protein`, `rna`: name"));
        write("assay,primary,colname\nrna,p1,a\nrna,p2,a\n");
        testing::refused(map(), "`a` of `rna` is of `p1` and of `p2`$");
        write("assay,primary\nrna,p1\n");
        testing::refused(map(), "no column `colname`");
    }
}
