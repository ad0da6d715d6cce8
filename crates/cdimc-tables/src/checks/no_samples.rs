//! Finds rows that are not samples: summaries below a table, and annotation of features where samples are columns.

use super::{MIN_ROWS, is_in};
use crate::Table;
use crate::error::listed;
use crate::overlap::escaped;
use std::collections::HashMap;

/// Names of rows that summarize a table.
const SUMMARIES: &str = "mean average avg median sd std stdev stddev standarddeviation se sem var variance cv min max sum total \
                         count n mittelwert summe moyenne médiane mediane écarttype ecarttype lod loq lloq uloq";
/// Names of rows that control a measurement, also with a number.
const CONTROLS: &str = "qc blank blk ntc pooledqc qcpool poolqc processblank solventblank";

/// Returns a warning for rows that look like no samples. Such a row has no number in its name while most rows have one.
/// It is also named as a summary or a detection limit, or its mean, mean size or share of whole numbers is outside the
/// range of the numbered rows by half that range, in every table that has it. A row that is named as a control may have a
/// number.
pub(crate) fn warnings(tables: &[Table]) -> Vec<String> {
    let odd: Vec<HashMap<&str, bool>> = tables.iter().map(odd_rows).collect();
    let has = |table: &Table, id: &str| table.ids.iter().flatten().any(|other| other == id);
    let is_alone = |id: &str| tables.iter().filter(|table| has(table, id)).count() == 1;
    let is_outside_everywhere = |id: &str| {
        let mut in_tables = odd.iter().zip(tables).filter(|(_, table)| has(table, id));
        in_tables.all(|(odd, _)| odd.get(id) == Some(&true))
    };
    let of_table = |(odd, table): (&HashMap<&str, bool>, &Table)| {
        let ids = table.ids.iter().flatten().map(String::as_str).filter(|id| odd.contains_key(id));
        let (summaries, mut rest): (Vec<&str>, Vec<&str>) =
            ids.partition(|id| is_in(id, SUMMARIES) || is_in(id, CONTROLS));
        // If one such row is found, other rows of this kind that are in no other file count too.
        let is_found = rest.iter().any(|id| is_outside_everywhere(id));
        rest.retain(|id| is_found && (is_alone(id) || is_outside_everywhere(id)));
        let unlike =
            "differ from the samples in names and values, like columns that annotate features,";
        let found = [(summaries, "are named like summaries or controls"), (rest, unlike)];
        let line = |(names, what): (Vec<&str>, &str)| {
            let pattern: Vec<String> = names.iter().map(|name| escaped(name)).collect();
            (!names.is_empty()).then(|| {
                format!(
                    "{}: rows that {what} count as samples: {}; leave them out with --drop-samples '^({})$'",
                    table.path.display(),
                    listed(names),
                    pattern.join("|")
                )
            })
        };
        found.into_iter().filter_map(line).collect::<Vec<String>>()
    };
    odd.iter().zip(tables).flat_map(of_table).collect()
}

/// Returns the rows without a number in their name, if most rows have one, and whether each is outside the range of the
/// numbered rows.
fn odd_rows(table: &Table) -> HashMap<&str, bool> {
    let Some(ids) = &table.ids else { return HashMap::new() };
    let (regular, odd): (Vec<usize>, Vec<usize>) =
        (0..ids.len()).partition(|&i| has_number(&ids[i]) && !is_in(&ids[i], CONTROLS));
    if odd.is_empty() || regular.len() < MIN_ROWS.max(odd.len()) {
        return HashMap::new();
    }
    let mut range = [(f64::INFINITY, f64::NEG_INFINITY); 3];
    for of_row in regular.iter().filter_map(|&i| shape(table, i)) {
        for ((low, high), x) in range.iter_mut().zip(of_row) {
            (*low, *high) = (low.min(x), high.max(x));
        }
    }
    let is_outside = |i: usize| {
        let of_row = shape(table, i).unwrap_or_else(|| range.map(|(low, _)| low));
        range.iter().zip(of_row).any(|((low, high), x)| {
            let margin = (high - low) / 2.0;
            x < low - margin || x > high + margin
        })
    };
    odd.into_iter().map(|i| (ids[i].as_str(), is_outside(i))).collect()
}

/// Returns the mean, mean size and share of whole numbers of a row, or `None` if it has no values.
fn shape(table: &Table, i: usize) -> Option<[f64; 3]> {
    let mut buffer = Vec::new();
    let measured = table.values.row(i, &mut buffer).iter().filter(|x| !x.is_nan());
    let (mut n, mut sums) = (0.0, [0.0; 3]);
    for x in measured {
        n += 1.0;
        let of_value = [*x, x.abs(), f64::from(u8::from(x.fract() == 0.0))];
        sums.iter_mut().zip(of_value).for_each(|(sum, x)| *sum += x);
    }
    (n > 0.0).then(|| sums.map(|sum| sum / n))
}

/// Returns whether a name contains a number other than the base of a logarithm.
fn has_number(name: &str) -> bool {
    let name = name.to_lowercase().replace("log2", "").replace("log10", "");
    name.contains(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array2;

    /// Returns the warnings for 30 samples and these rows with values `of_row`.
    fn lines(names: &[&str], of_row: fn(usize) -> f64) -> Vec<String> {
        let samples = (0..30).map(|i| format!("P{i:03}"));
        let ids: Vec<String> = names.iter().map(|&name| name.to_owned()).chain(samples).collect();
        let n_odd = names.len();
        let value = |(i, j): (usize, usize)| {
            if i < n_odd { of_row(i + j) } else { ((i * 7 + j) % 31) as f64 / 9.0 }
        };
        let of = |name: &str, ids: &[String], n_columns: usize| {
            let values = Array2::from_shape_fn((ids.len(), n_columns), value);
            Table::with_ids(name, Some(ids.to_vec()), values)
        };
        warnings(&[of("a", &ids, 3), of("b", &ids[n_odd..], 2)])
    }

    #[test]
    fn annotation_and_summaries_among_samples_are_reported() {
        let found = lines(&["Start", "Gene.Length", "log2FoldChange"], |i| (1000 * i + 7) as f64);
        let expected = "a.csv: rows that differ from the samples in names and values, like columns that annotate features, \
                        count as samples: `Start`, `Gene.Length`, `log2FoldChange`; leave them out with --drop-samples \
                        '^(Start|Gene\\.Length|log2FoldChange)$'";
        assert_eq!(found, [expected]);
        let both = lines(&["Start", "GC"], |i| if i == 0 { 1e6 } else { 1.7 });
        assert!(both[0].contains("samples: `Start`, `GC`;"), "both in one file");
        let found = lines(&["Mean", "SD"], |_| 1.6);
        assert!(found.len() == 1 && found[0].contains("`Mean`, `SD`"), "{found:?}");
        let found = lines(&["QC_01", "Blank-2", "LLOQ", "Écart-type"], |_| 1.6);
        assert!(found[0].contains("`QC_01`, `Blank-2`, `LLOQ`, `Écart-type`"), "{found:?}");
    }

    #[test]
    fn an_odd_name_or_odd_values_alone_do_not_make_a_finding() {
        assert_eq!(lines(&["pool", "reference"], |i| [1.1, 1.7, 2.3, 1.5][i]), [""; 0]);
        assert_eq!(lines(&["P777"], |_| 1e6), [""; 0]);
        let names: Vec<&str> = ["ann", "bob", "cay", "dan", "eve", "fay"].repeat(6);
        assert_eq!(lines(&names, |_| 1e6), [""; 0], "most have no number");
    }
}
