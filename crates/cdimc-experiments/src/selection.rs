//! What the command line selects of an experiment, or replaces in it.

use crate::settings::Setting;
use anyhow::Context;
use std::collections::HashSet;
use std::str::FromStr;

/// Options that repeat may be given several times; each replaces the experiment's own list.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Selection {
    /// Data set to run on.
    #[arg(long, value_name = "D")]
    pub dataset: Vec<String>,
    /// Row of the experiment's table, or a method: all rows of this method; without a row, its default settings.
    #[arg(long, value_name = "M")]
    pub method: Vec<String>,
    /// Missing pattern, such as ring or per-view:0.3.
    #[arg(long, value_name = "TEXT")]
    pub pattern: Vec<String>,
    /// Missing rate, a fraction.
    #[arg(long, value_name = "P", allow_negative_numbers = true)]
    pub rate: Vec<f64>,
    /// Which of the masks the data set's authors give.
    #[arg(long, value_name = "F")]
    pub fold: Vec<usize>,
    /// Runs of every method on every mask (drawn masks differ between them).
    #[arg(long, value_name = "N")]
    pub repetitions: Option<usize>,
    /// Root of all randomness.
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub seed: u64,
    /// Setting of the methods that have such a key, e.g. pretrain.epochs=100.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<Setting>,
    /// The I-th of N parts of the cells, e.g. 3/16.
    #[arg(long, value_name = "I/N")]
    pub shard: Option<Shard>,
}

/// One of several parts into which the cells of an experiment are dealt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shard {
    /// From 1 to `of`.
    pub part: usize,
    pub of: usize,
}

impl Shard {
    /// What belongs to this part of a list whose items have these different keys: they are dealt in the order of
    /// their keys, which are as good as random, so that every part gets some of each method.
    pub(crate) fn members<T>(self, mut items: Vec<T>, key: impl Fn(&T) -> String) -> Vec<T> {
        let mut keys: Vec<String> = items.iter().map(&key).collect();
        keys.sort();
        let own: HashSet<String> = keys.into_iter().skip(self.part - 1).step_by(self.of).collect();
        items.retain(|item| own.contains(&key(item)));
        items
    }
}

impl FromStr for Shard {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let parsed = text
            .split_once('/')
            .and_then(|(part, of)| Some(Self { part: part.parse().ok()?, of: of.parse().ok()? }));
        let valid = parsed.filter(|shard| (1..=shard.of).contains(&shard.part));
        valid.context("must be I/N with I from 1 to N")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_belongs_to_exactly_one_part() {
        let items: Vec<usize> = (0..23).collect();
        let key = |i: &usize| format!("{:02}", (i * 7) % 23);
        for of in 1..30 {
            let mut together: Vec<usize> =
                (1..=of).flat_map(|part| Shard { part, of }.members(items.clone(), key)).collect();
            together.sort_unstable();
            assert_eq!(together, items, "{of} parts");
        }
    }

    #[test]
    fn a_part_lies_between_1_and_the_number_of_parts() {
        assert_eq!("3/16".parse::<Shard>().unwrap(), Shard { part: 3, of: 16 });
        for text in ["0/4", "5/4", "1", "1/0", "a/b", "-1/2", ""] {
            let error = text.parse::<Shard>().unwrap_err().to_string();
            assert_eq!(error, "must be I/N with I from 1 to N", "{text}");
        }
    }
}
