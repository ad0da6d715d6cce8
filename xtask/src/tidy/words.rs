//! Finds phrases that are not plain English, in prose and in names, and British spelling.

/// A banned phrase per line, or the beginning of a British word, a colon and its American spelling.
const WORDS: &str = include_str!("words.txt");

/// American words with such beginnings.
const OTHERS: &[&str] = &["analyses", "parallelism", "optimism", "optimist", "organism"];

pub(super) fn banned(line: &str) -> impl Iterator<Item = &'static str> {
    let words: Vec<String> = line
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    let words = format!(" {} ", words.join(" "));
    let phrases = WORDS.lines().filter(|line| !line.contains([':', '#']));
    phrases.filter(move |phrase| words.contains(&format!(" {phrase} ")))
}

/// Returns the British words of a line, each with its American beginning.
pub(super) fn british(line: &str) -> Vec<(String, &'static str)> {
    let lower = line.to_lowercase();
    let mut found = Vec::new();
    for (british, american) in WORDS.lines().filter_map(|pair| pair.split_once(':')) {
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
    fn phrases_are_found_in_prose_and_in_names() {
        let phrase = concat!("all of wh", "ich");
        let name = phrase.replace(' ', "_");
        for line in [format!("/// It is, {phrase}."), format!("fn x_{name}_y() {{")] {
            assert_eq!(banned(&line).collect::<Vec<_>>(), [phrase], "{line}");
        }
        assert_eq!(banned(&format!("x{phrase}")).next(), None);
    }

    #[test]
    fn british_words_are_found_and_american_ones_are_not() {
        // Concatenated, so that this file does not break its own rule.
        let line = concat!("the opti", "miser of nearest_neigh", "bours, Standard", "ised");
        let words: Vec<&str> = british(line).iter().map(|(_, american)| *american).collect();
        assert_eq!(words, ["neighbor", "optimiz", "standardiz"]);
        assert!(british("optimizer, neighbors, available_parallelism, organism").is_empty());
    }
}
