//! Alluvial picture: how the samples of one grouping are distributed over another grouping.

use super::drawing::{GRAY, cluster_color};
use super::svg::{Drawing, shortened};
use plotters::style::text_anchor::HPos;
use std::collections::BTreeMap;

/// Maximum number of groups with their own band; smaller groups are combined.
const GROUPS: usize = 24;

/// Points.
const HEIGHT: f64 = 320.0;
const TOP: f64 = 26.0;
const GAP: f64 = 6.0;
const NAMES: f64 = 130.0;
const BAR: f64 = 10.0;
const BANDS: f64 = 260.0;

/// A grouping: one group per sample.
#[derive(Debug, Clone)]
pub struct Grouping {
    pub(super) name: String,
    /// Names of the groups; numbers in ascending order.
    groups: Vec<String>,
    of_sample: Vec<usize>,
}

impl Grouping {
    /// Builds the groups from the group name of each sample; an empty name means that the group is unknown.
    pub fn new(name: &str, of_samples: impl Iterator<Item = String>) -> Self {
        let of_samples: Vec<String> = of_samples.map(|name| super::class_name(&name)).collect();
        let mut sizes: BTreeMap<&str, usize> = BTreeMap::new();
        of_samples.iter().for_each(|group| *sizes.entry(group).or_default() += 1);
        let mut groups: Vec<&str> = sizes.keys().copied().collect();
        groups.sort_by_key(|group| std::cmp::Reverse(sizes[group]));
        let others = groups.len().saturating_sub(GROUPS);
        groups.truncate(GROUPS);
        groups.sort_by_key(|group| (group.parse::<usize>().unwrap_or(usize::MAX), *group));
        let mut groups: Vec<String> = groups.into_iter().map(str::to_owned).collect();
        let place: BTreeMap<&str, usize> =
            groups.iter().enumerate().map(|(place, group)| (group.as_str(), place)).collect();
        let of = |group: &String| place.get(group.as_str()).copied().unwrap_or(GROUPS);
        let of_sample = of_samples.iter().map(of).collect();
        if others > 0 {
            groups.push(format!("{others} others"));
        }
        Self { name: name.to_owned(), groups, of_sample }
    }
}

/// Draws bars for the groups of both sides and bands between them, in the colors of the right groups. The order of the
/// left groups minimizes crossings.
pub(super) fn alluvial(from: &Grouping, to: &Grouping) -> String {
    let n = from.of_sample.len().max(1) as f64;
    // A cluster keeps its color even if clusters before it are empty.
    let color = |b: usize| cluster_color(to.groups[b].parse().unwrap_or(b));
    let mut counts = vec![vec![0.0; to.groups.len()]; from.groups.len()];
    from.of_sample.iter().zip(&to.of_sample).for_each(|(&a, &b)| counts[a][b] += 1.0);
    let size = |b: usize| counts.iter().map(|row| row[b]).sum::<f64>();
    let mean_place = |b: usize| {
        let places = counts.iter().enumerate().map(|(a, row)| a as f64 * row[b]);
        places.sum::<f64>() / size(b)
    };
    let mut order: Vec<usize> = (0..to.groups.len()).collect();
    order.sort_by(|&a, &b| mean_place(a).total_cmp(&mean_place(b)));
    let most = from.groups.len().max(to.groups.len()) as f64;
    let scale = HEIGHT / n;
    let (left, right) = (NAMES + BAR, NAMES + BAR + BANDS);
    let mut drawing = Drawing::default();
    drawing.text((left, TOP - 12.0), HPos::Right, 13, &from.name);
    drawing.text((right, TOP - 12.0), HPos::Left, 13, &to.name);
    // Start of the next band on the right.
    let mut begin = vec![0.0; to.groups.len()];
    let mut y = TOP;
    for &b in &order {
        let height = scale * size(b);
        begin[b] = y;
        drawing.cell((right, y), (BAR, height), color(b));
        let name = shortened(&to.groups[b], 18);
        drawing.text((right + BAR + 6.0, y + height / 2.0 + 4.0), HPos::Left, 12, &name);
        y += height + GAP;
    }
    let mut y = TOP;
    for (row, group) in counts.iter().zip(&from.groups) {
        let height = scale * row.iter().sum::<f64>();
        drawing.cell((NAMES, y), (BAR, height), GRAY);
        let name = shortened(group, 18);
        drawing.text((NAMES - 6.0, y + height / 2.0 + 4.0), HPos::Right, 12, &name);
        let mut from = y;
        for &b in order.iter().filter(|&&b| row[b] > 0.0) {
            let height = scale * row[b];
            let heights = ((from, from + height), (begin[b], begin[b] + height));
            drawing.band((left, right), heights, color(b));
            from += height;
            begin[b] += height;
        }
        y += height + GAP;
    }
    drawing.svg((right + BAR + NAMES, TOP + HEIGHT + most * GAP))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grouping(of_samples: &[&str]) -> Grouping {
        Grouping::new("x", of_samples.iter().map(ToString::to_string))
    }

    #[test]
    fn every_pair_of_groups_with_samples_has_one_band() {
        let svg = alluvial(&grouping(&["b", "b", "a", ""]), &grouping(&["0", "1", "1", "10"]));
        assert_eq!(svg.matches("C270").count(), 2 * 4, "{svg}");
        assert!(svg.contains(">(none)<") && svg.contains(">10<"));
    }

    #[test]
    fn numbers_are_sorted_and_the_smallest_of_many_groups_are_merged() {
        assert_eq!(grouping(&["10", "2", "2"]).groups, ["2", "10"]);
        let names: Vec<String> = (0..30).flat_map(|i| vec![format!("g{i:02}"); 31 - i]).collect();
        let many = Grouping::new("x", names.into_iter());
        assert_eq!((many.groups.len(), many.groups[GROUPS].as_str()), (GROUPS + 1, "6 others"));
        assert_eq!(many.of_sample.iter().filter(|&&group| group == GROUPS).count(), 27);
    }
}
