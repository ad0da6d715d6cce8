//! Checks American spelling.

/// Beginnings of British words, with their American spelling.
const WORDS: &str = "analyse:analyze artefact:artifact behaviour:behavior catalogue:catalog centre:center \
    colour:color favour:favor generalis:generaliz grey:gray initialis:initializ \
    judgement:judgment labelled:labeled labelling:labeling learnt:learned licenc:licens \
    maximis:maximiz minimis:minimiz misspelt:misspelled modelling:modeling neighbour:neighbor \
    normalis:normaliz optimis:optimiz organis:organiz parallelis:paralleliz randomis:randomiz \
    recognis:recogniz regularis:regulariz serialis:serializ standardis:standardiz \
    summaris:summariz visualis:visualiz";

/// American words with such beginnings.
const OTHERS: &[&str] = &["analyses", "parallelism", "optimism", "optimist", "organism"];

/// Returns the British words of a line, each with its American beginning.
pub(super) fn british(line: &str) -> Vec<(String, &'static str)> {
    let lower = line.to_lowercase();
    let mut found = Vec::new();
    for (british, american) in WORDS.split(' ').filter_map(|pair| pair.split_once(':')) {
        for (at, _) in lower.match_indices(british) {
            let is_start = lower[..at].chars().next_back().is_none_or(|c| !c.is_alphabetic());
            let word: String = lower[at..].chars().take_while(|c| c.is_alphabetic()).collect();
            if is_start && !OTHERS.iter().any(|other| word.starts_with(other)) {
                found.push((word, american));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn british_words_are_found_and_american_ones_are_not() {
        // Concatenated, so that this file does not break its own rule.
        let line = concat!("the opti", "miser of nearest_neigh", "bours, Standard", "ised");
        let words: Vec<&str> = british(line).iter().map(|(_, american)| *american).collect();
        assert_eq!(words, ["neighbor", "optimiz", "standardiz"]);
        assert!(british("optimizer, neighbors, available_parallelism, organism").is_empty());
    }
}
