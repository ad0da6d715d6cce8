//! Text form of missing patterns, for command lines, experiments and records.

use crate::{DataError, Mechanism, MissingPattern, ViewMask};
use ndarray::Array2;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

impl fmt::Display for MissingPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Complete => f.write_str("complete"),
            Self::PerView(rate) => write!(f, "per-view:{rate}"),
            Self::PairedRatio(ratio) => write!(f, "paired:{ratio}"),
            Self::IncompleteSamples { rate, mechanism } => {
                write!(f, "incomplete:{rate}:{mechanism}")
            }
            Self::Cells(rate) => write!(f, "cells:{rate}"),
            // The trailing comma distinguishes a list of one rate from one rate for all views.
            Self::PerViewRates(rates) if rates.len() == 1 => write!(f, "per-view:{},", rates[0]),
            Self::PerViewRates(rates) => {
                let rates: Vec<String> = rates.iter().map(f64::to_string).collect();
                write!(f, "per-view:{}", rates.join(","))
            }
            Self::Blocks(rate) => write!(f, "blocks:{rate}"),
            Self::RandomViews(kept) => write!(f, "random-views:{kept}"),
            Self::Chain => f.write_str("chain"),
            Self::Ring => f.write_str("ring"),
            Self::Given(mask) => {
                f.write_str("given:")?;
                for (i, row) in mask.entries().outer_iter().enumerate() {
                    let row: String = row.iter().map(|&o| if o { '1' } else { '0' }).collect();
                    write!(f, "{}{row}", if i == 0 { "" } else { "," })?;
                }
                Ok(())
            }
        }
    }
}

impl FromStr for MissingPattern {
    type Err = DataError;

    fn from_str(text: &str) -> Result<Self, DataError> {
        // A given mask may be long; its beginning identifies it.
        let unknown = || {
            let text: String = text.chars().take(60).collect();
            DataError::Other(format!(
                "missing pattern = {text:?}: must be complete, per-view:RATE, per-view:RATE,RATE,.., paired:RATIO, \
                 incomplete:RATE:mem|mcar|mnar|pm, cells:RATE, blocks:RATE, random-views:COUNT, chain, ring or \
                 given:ROW,ROW,.."
            ))
        };
        let rate = |text: &str| text.trim().parse::<f64>().map_err(|_| unknown());
        let pattern = match text.trim().split_once(':') {
            None if text.trim() == "complete" => Self::Complete,
            None if text.trim() == "chain" => Self::Chain,
            None if text.trim() == "ring" => Self::Ring,
            Some(("per-view", rates)) if rates.contains(',') => {
                let rates = rates.strip_suffix(',').unwrap_or(rates);
                Self::PerViewRates(rates.split(',').map(rate).collect::<Result<_, _>>()?)
            }
            Some(("per-view", text)) => Self::PerView(rate(text)?),
            Some(("paired", text)) => Self::PairedRatio(rate(text)?),
            Some(("incomplete", text)) => {
                let (share, mechanism) = text.split_once(':').ok_or_else(unknown)?;
                let known = Mechanism::ALL.into_iter().find(|known| known.to_string() == mechanism);
                let mechanism = known.ok_or_else(unknown)?;
                Self::IncompleteSamples { rate: rate(share)?, mechanism }
            }
            Some(("cells", text)) => Self::Cells(rate(text)?),
            Some(("blocks", text)) => Self::Blocks(rate(text)?),
            Some(("random-views", text)) => {
                Self::RandomViews(text.trim().parse().map_err(|_| unknown())?)
            }
            Some(("given", rows)) => Self::Given(parse_mask(rows).ok_or_else(unknown)??),
            _ => return Err(unknown()),
        };
        pattern.check()?;
        Ok(pattern)
    }
}

/// Parses the comma-separated rows of a mask; `None` if the text has another form.
fn parse_mask(rows: &str) -> Option<Result<ViewMask, DataError>> {
    let rows: Vec<&str> = rows.split(',').map(str::trim).collect();
    let n_views = rows[0].len();
    let well_formed = |row: &&str| row.len() == n_views && row.bytes().all(|b| b"01".contains(&b));
    if !rows.iter().all(well_formed) {
        return None;
    }
    let entries = rows.iter().flat_map(|row| row.bytes().map(|b| b == b'1')).collect();
    Some(ViewMask::new(Array2::from_shape_vec((rows.len(), n_views), entries).ok()?))
}

impl Serialize for MissingPattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for MissingPattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_pattern_are_inverse() {
        let texts = "complete per-view:0.3 per-view:0.1,0.3,0.5 per-view:0.1, paired:0.5 \
                     incomplete:0.3:mem incomplete:0.3:mcar incomplete:0.3:mnar incomplete:1:pm \
                     cells:0.25 blocks:0 random-views:2 chain ring given:110,011";
        for text in texts.split(' ') {
            let pattern: MissingPattern = text.parse().unwrap();
            assert_eq!(pattern.to_string(), text);
            assert_eq!(pattern.to_string().parse::<MissingPattern>().unwrap(), pattern);
        }
        let rates = MissingPattern::PerViewRates(vec![0.1]);
        assert_eq!("per-view:0.1,".parse::<MissingPattern>().unwrap(), rates);
        let spaced: MissingPattern = " per-view: 0.1, 0.2".parse().unwrap();
        assert_eq!(spaced.to_string(), "per-view:0.1,0.2");
    }

    #[test]
    fn other_texts_are_errors_that_list_the_forms() {
        let texts = "0.3 per-view per-view: per-view:, paired:x incomplete:0.3 incomplete:0.3:mar \
                     random-views:x random-views:1.5 chain:2 given:1x given:11,1";
        for text in texts.split(' ').chain([""]) {
            let message = text.parse::<MissingPattern>().unwrap_err().to_string();
            let start = format!("missing pattern = {text:?}: must be complete, ");
            assert!(message.starts_with(&start), "{message}");
        }
        let message = "given:11,00".parse::<MissingPattern>().unwrap_err().to_string();
        assert_eq!(message, "sample 1 is observed in no view: every sample needs at least one");
    }

    #[test]
    fn files_hold_the_text() {
        #[derive(Serialize, Deserialize)]
        struct Cell {
            pattern: MissingPattern,
        }
        let cell: Cell = toml::from_str("pattern = \"paired:0.5\"").unwrap();
        assert_eq!(cell.pattern, MissingPattern::PairedRatio(0.5));
        assert_eq!(toml::to_string(&cell).unwrap(), "pattern = \"paired:0.5\"\n");
        assert!(toml::from_str::<Cell>("pattern = \"paired:1.5\"").is_err());
    }
}
