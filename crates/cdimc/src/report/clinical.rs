//! Report section that compares the clusters with the clinical table: survival and associations.

use super::drawing::{INK, PALETTE, cluster_color, draw, grid, words};
use super::page::Page;
use crate::clinical::{Association, ClusterSurvival, Comparison, Survival};
use crate::numbers::short;
use plotters::prelude::*;
use std::collections::BTreeMap;

/// Maximum number of associations on the page; the file has all of them.
const LISTED: usize = 40;
/// Maximum number of curves in a picture.
const CURVES: usize = PALETTE.len();

/// Adds the section; `n_clustered` counts all samples, compared or not.
pub(super) fn section(page: &mut Page, comparison: &Comparison, n_clustered: usize) {
    page.section("What the clusters mean for the clinical table");
    for note in &comparison.notes {
        page.warning(note);
    }
    if comparison.n_known == 0 {
        return;
    }
    let Comparison { n_known, n_samples, .. } = comparison;
    let searched = if *n_samples < n_clustered {
        format!(" searched, of {n_clustered} clustered")
    } else {
        String::new()
    };
    page.paragraph(&format!(
        "The clinical table contains {n_known} of the {n_samples} samples{searched}. {}",
        Comparison::MEANING
    ));
    if let Some(found) = &comparison.survival {
        survival(page, found);
    }
    associations(page, &comparison.associations);
}

fn survival(page: &mut Page, found: &Survival) {
    let log_rank = found.log_rank.as_ref().map_or_else(String::new, |test| {
        format!(
            "log-rank {}, {} (chi squared {:.2}, {} degrees of freedom); ",
            named_p_value("p", test.p),
            named_p_value("q", found.q),
            test.statistic,
            test.degrees,
        )
    });
    page.paragraph(&format!(
        "Survival ({}, {}): {log_rank}{} samples, {} with the event.",
        found.columns.time, found.columns.event, found.n, found.n_events
    ));
    let mut largest: Vec<&ClusterSurvival> = found.clusters.iter().collect();
    largest.sort_by_key(|c| std::cmp::Reverse(c.n));
    largest.truncate(CURVES);
    largest.sort_by_key(|c| c.cluster);
    let left_out = match found.clusters.len() - largest.len() {
        0 => String::new(),
        n => format!(" The {n} smallest clusters are not drawn."),
    };
    page.figure(
        "survival",
        kaplan_meier(&found.columns.time, &largest),
        &format!(
            "Kaplan-Meier curves; a tick is a sample that was censored at this time. Below: the number of samples of each \
             cluster still at risk.{left_out}"
        ),
    );
    let number = |x: f64| if x.is_finite() { format!("{x:.2}") } else { String::new() };
    let rows = found.clusters.iter().map(|c| {
        let ratio = match c.hazard_ratio {
            _ if c.cluster == found.reference => ["1 (reference)".into(), String::new()],
            None => [String::new(), String::new()],
            Some(found) if found.interval.0.is_nan() => [number(found.ratio), String::new()],
            Some(found) => {
                let (lower, upper) = found.interval;
                let [ratio, lower, upper] = [found.ratio, lower, upper].map(number);
                [format!("{ratio} ({lower} to {upper})"), p_value(found.p)]
            }
        };
        let mean = &c.restricted_mean;
        let [ratio, p] = ratio;
        vec![
            c.cluster.to_string(),
            c.n.to_string(),
            c.n_events.to_string(),
            c.median.map_or("not reached".into(), short),
            format!("{} ± {}", short(mean.mean), short(mean.error)),
            ratio,
            p,
        ]
    });
    let time = &found.columns.time;
    let [median, mean] = ["median", "restricted mean"].map(|what| format!("{what}, {time}"));
    let header = ["cluster", "samples", "events", &median, &mean, "hazard ratio", "p"];
    page.colored_table(&header, rows);
    page.paragraph(&format!(
        "The restricted mean, with its standard error, is the mean time without the \
         event up to {}, the last time at which every cluster still has samples under observation. Hazard ratios with 95 % intervals, and p of Wald's test, \
         are against cluster {}, by Cox's model (ties by Efron); a cluster without events has ratio 0 and no interval.",
        short(found.horizon), found.reference
    ));
}

fn associations(page: &mut Page, associations: &[Association]) {
    let tested = associations.iter().filter_map(|a| Some((&a.column, a.outcome.as_ref().ok()?)));
    let rows: Vec<Vec<String>> = tested
        .clone()
        .take(LISTED)
        .map(|(column, found)| {
            vec![
                column.clone(),
                p_value(found.p),
                p_value(found.q),
                format!("{} {:.2}", found.effect_name, found.effect),
                found.ari.map_or_else(String::new, |ari| format!("{ari:.2}")),
                found.n.to_string(),
                found.test.into(),
                found.summary(),
            ]
        })
        .collect();
    if !rows.is_empty() {
        let header = ["column", "p", "q", "effect", "ARI", "samples", "test", "cluster: typical"];
        page.table(&header, rows.into_iter());
        page.paragraph(
            "ARI is the agreement of clusters and categories beyond chance: 1 if they are the same, 0 if they are unrelated. \
             Typical of a cluster is the median of numbers, the share of the second of two categories, or the most common of \
             more categories. Fisher's test replaces chi squared if few samples are expected in a cell.",
        );
    }
    let more = tested.count().saturating_sub(LISTED);
    if more > 0 {
        page.paragraph(&format!("{more} more tests are in associations.csv."));
    }
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for association in associations {
        if let Err(reason) = &association.outcome {
            reasons.entry(reason).or_default().push(&association.column);
        }
    }
    for (reason, columns) in reasons {
        page.paragraph(&match columns[..] {
            [column] => format!("Not tested, {reason}: {column}."),
            _ => {
                format!("Not tested, {reason}: {} columns, {} first.", columns.len(), columns[0])
            }
        });
    }
}

/// Formats a p value for readers, after its name.
pub(super) fn named_p_value(name: &str, p: f64) -> String {
    match p_value(p) {
        bound if bound.starts_with('<') => format!("{name} {bound}"),
        value => format!("{name} = {value}"),
    }
}

/// Formats a p value for readers.
pub(super) fn p_value(p: f64) -> String {
    match p {
        p if p < 1e-300 => "< 1e-300".into(),
        p if p < 0.001 => format!("{p:.1e}"),
        p => format!("{p:.3}"),
    }
}

/// Draws the curves of clusters over a time of this name, with the numbers at risk below the axis.
fn kaplan_meier(time: &str, clusters: &[&ClusterSurvival]) -> String {
    let (width, curves, row_height) = (620, 330, 17);
    let last = clusters.iter().filter_map(|c| Some(c.curve.steps.last()?.time));
    let end = last.fold(0.0, f64::max);
    let end = if end > 0.0 { end } else { 1.0 };
    let step = tick_step(end / 6.0);
    let ticks: Vec<f64> =
        (0..=6).map(|i| f64::from(i) * step).filter(|t| *t <= end * (1.0 + 1e-9)).collect();
    let height = curves + row_height * (clusters.len() as i32 + 1);
    draw((width, height), |root| {
        let (above, _) = root.split_vertically(curves);
        let mut chart = ChartBuilder::on(&above)
            .margin(8)
            .margin_right(20)
            .x_label_area_size(28)
            .y_label_area_size(78)
            .build_cartesian_2d(0.0..end, 0.0..1.0)?;
        grid(&mut chart)
            .disable_x_mesh()
            .x_labels(0)
            .y_labels(6)
            .y_desc("share without the event")
            .draw()?;
        for cluster in clusters {
            let color = cluster_color(cluster.cluster);
            let (mut corners, mut level) = (vec![(0.0, 1.0)], 1.0);
            for step in &cluster.curve.steps {
                corners.push((step.time, level));
                level = step.survival;
                corners.push((step.time, level));
            }
            let censored = cluster.curve.steps.iter().filter(|step| step.censored > 0);
            let mut marks: Vec<_> = censored.map(|step| (step.time, step.survival)).collect();
            // With tens of thousands of samples, most points fall on the pixel of the previous one.
            corners.dedup_by_key(|corner| chart.backend_coord(corner));
            marks.dedup_by_key(|mark| chart.backend_coord(mark));
            chart.draw_series(LineSeries::new(corners, color.stroke_width(2)))?;
            chart.draw_series(marks.into_iter().map(|at| {
                EmptyElement::at(at) + PathElement::new([(0, -5), (0, 5)], color.stroke_width(1))
            }))?;
        }
        let ink = words(12);
        let centered = |text: String, x: i32, y: i32, style: &TextStyle<'static>| {
            use plotters::style::text_anchor::{HPos, Pos, VPos};
            let style = style.pos(Pos::new(HPos::Center, VPos::Top));
            root.draw(&Text::new(text, (x, y), style))
        };
        let places: Vec<(i32, f64)> =
            ticks.iter().map(|&t| (chart.backend_coord(&(t, 0.0)).0, t)).collect();
        let bottom = chart.backend_coord(&(0.0, 0.0)).1;
        for &(x, t) in &places {
            root.draw(&PathElement::new([(x, bottom), (x, bottom + 4)], INK.mix(0.5)))?;
            centered(format!("{t}"), x, bottom + 6, &ink)?;
        }
        let middle = chart.backend_coord(&(end / 2.0, 0.0)).0;
        centered(time.to_owned(), middle, bottom + 22, &ink)?;
        root.draw(&Text::new("watched", (8, bottom + 26), ink))?;
        for (row, cluster) in clusters.iter().enumerate() {
            let y = bottom + 28 + row_height * (row as i32 + 1);
            let color = cluster_color(cluster.cluster);
            let style = ("sans-serif", 12).into_font().color(&color);
            root.draw(&Text::new(format!("cluster {}", cluster.cluster), (8, y), style.clone()))?;
            for &(x, t) in &places {
                centered(cluster.curve.at_risk(t).to_string(), x, y, &style)?;
            }
        }
        Ok(())
    })
}

/// Returns the smallest of 1, 2 or 5 times a power of ten that is at least this large.
fn tick_step(least: f64) -> f64 {
    let power = 10.0_f64.powf(least.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|f| f * power >= least * (1.0 - 1e-9));
    factor.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clinical::{Clinical, ClinicalTable};

    fn compared(events: bool) -> Comparison {
        let n = 60;
        let samples: Vec<String> = (0..n).map(|i| format!("p{i}")).collect();
        let column = |name: &str, cell: &dyn Fn(usize) -> String| -> (String, Vec<String>) {
            (name.into(), (0..n).map(cell).collect())
        };
        let table = ClinicalTable::new(
            samples.clone(),
            vec![
                column("days", &|i| (10 + 7 * i % 50 + 40 * (i % 3)).to_string()),
                column("dead", &|i| u8::from(events && i % 4 != 0).to_string()),
                column("<age>", &|i| (40 + i % 3 * 9 + i % 7).to_string()),
                column("seen", &|_| "2024-01-01".into()),
            ],
        );
        let columns = "days,dead".parse().unwrap();
        let labels: Vec<usize> = (0..n).map(|i| i % 3).collect();
        Clinical::new(&table, Some(&columns), &samples).compare(&labels)
    }

    fn html(comparison: &Comparison) -> String {
        let mut page = Page::new("x");
        section(&mut page, comparison, comparison.n_samples);
        page.finish().html
    }

    #[test]
    fn what_cannot_be_compared_is_one_line_and_the_rest_is_there() {
        let html = html(&compared(false));
        assert!(html.contains("all 60 samples are censored") && html.contains("&lt;age&gt;"));
        assert!(!html.contains("<svg"));
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!([0.9, 1.0, 3.0, 770.0, 0.07].map(tick_step), [1.0, 1.0, 5.0, 1000.0, 0.1]);
    }
}
