//! Tests of samples in parts.

use super::*;
use crate::training_set;
use cdimc_core::{Clusterer, Silent};
use cdimc_data::SyntheticViews;

struct InMemory(Vec<Vec<Table>>);

impl Parts for InMemory {
    fn n_parts(&self) -> usize {
        self.0.len()
    }

    fn tables(&self, part: usize) -> Result<Vec<Table>, ClusterError> {
        Ok(self.0[part].clone())
    }
}

/// 900 samples in three parts; the second lacks the last view, and every seventh sample the first.
fn parts() -> InMemory {
    let dataset = SyntheticViews { n_samples: 900, ..SyntheticViews::default() }
        .generate(Seed::new(1))
        .unwrap();
    let part = |part: usize| -> Vec<Table> {
        let table = |(v, view): (usize, &ndarray::Array2<f64>)| {
            let rows: Vec<usize> =
                (300 * part..300 * (part + 1)).filter(|i| v > 0 || i % 7 > 0).collect();
            let values = view.select(ndarray::Axis(0), &rows);
            Table {
                path: format!("view{v}-{part}.csv").into(),
                ids: Some(rows.iter().map(|i| format!("s{i}")).collect()),
                features: (0..view.ncols()).map(|j| j.to_string()).collect(),
                ..Table::new(&format!("view{v}"), values)
            }
        };
        let views = dataset.views().iter().enumerate();
        views.filter(|(v, _)| part != 1 || *v < 2).map(table).collect()
    };
    InMemory((0..3).map(part).collect())
}

fn method() -> TMixture {
    TMixture { starts: 4, search_samples: 300, ..TMixture::default() }
}

fn fitted(parts: &InMemory) -> (NamedModel, Joined) {
    let observer = Silent;
    let index = PartIndex::of(parts, false, &observer).unwrap();
    assert_eq!(index.n_samples[..3], [300; 3]);
    let searched = index.to_search(parts, &method(), Seed::new(3), &observer).unwrap();
    let searched = training_set(searched, false).unwrap();
    assert_eq!(searched.data.n_samples(), 300);
    let model = method().fit(&searched.data, 4, Seed::new(3), &observer).unwrap().model;
    let model = NamedModel::new(model.unwrap(), &searched);
    (index.fit(parts, &model, (&searched, Seed::new(3)), &observer).unwrap(), searched)
}

#[test]
fn parts_are_fitted_as_samples_in_memory_are() {
    let parts = parts();
    let (model, _) = fitted(&parts);
    let mut labels = HashMap::new();
    for tables in &parts.0 {
        let (joined, which) = model.join(tables.clone(), false).unwrap();
        let found = model.predict(&joined, &which).unwrap();
        labels.extend(joined.ids.into_iter().zip(found.labels));
    }
    let all = (0..3).map(|v| {
        let of_view = parts.0.iter().flatten().filter(|t| t.name == format!("view{v}"));
        stacked(of_view.cloned().collect()).unwrap()
    });
    let all = training_set(all.collect(), false).unwrap();
    let found = method().cluster(&all.data, 4, Seed::new(3)).unwrap();
    let in_parts: Vec<usize> = all.ids.iter().map(|id| labels[id]).collect();
    // The order of the samples differs, and with it the search.
    assert!(cdimc_metrics::ari(&found.labels, &in_parts).unwrap() > 0.97);
}

#[test]
fn a_part_may_lack_a_view_by_name_or_by_no_row() {
    let by_name = parts();
    let mut by_no_row = parts();
    let (of_view, ids) = (by_no_row.0[0][2].clone(), by_no_row.0[1][1].ids.clone());
    let values = ndarray::Array2::from_elem((300, of_view.features.len()), f64::NAN).into();
    by_no_row.0[1].push(Table { path: "view2-1.csv".into(), ids, values, ..of_view });
    let bytes = |parts: &InMemory| fitted(parts).0.to_bytes().unwrap();
    assert_eq!(bytes(&by_no_row), bytes(&by_name));
}

#[test]
fn columns_may_have_another_order_and_parts_may_have_no_value() {
    let mut other = parts();
    let table = &mut other.0[1][1];
    let reversed: Vec<usize> = (0..table.features.len()).rev().collect();
    table.values = table.values.select_columns(&reversed);
    table.features.reverse();
    let bytes = |parts: &InMemory| fitted(parts).0.to_bytes().unwrap();
    assert_eq!(bytes(&other), bytes(&parts()));

    let mut gaps = other.0[0].clone();
    for (i, table) in gaps.iter_mut().enumerate() {
        table.values.dense_mut().fill(f64::NAN);
        table.ids.iter_mut().flatten().for_each(|id| id.insert(0, 'x'));
        table.path = format!("view{i}-3.csv").into();
    }
    other.0.extend([Vec::new(), gaps]);
    assert_eq!(bytes(&other), bytes(&parts()));
}

#[test]
fn a_part_that_has_changed_is_named() {
    let mut parts = parts();
    let index = PartIndex::of(&parts, false, &Silent).unwrap();
    parts.0[2].truncate(1);
    let error = index.to_search(&parts, &method(), Seed::new(3), &Silent).unwrap_err();
    assert_eq!(
        error.to_string(),
        "view0-2.csv: this part has 257 samples, and had 300 when it was read first: it has changed"
    );
}
