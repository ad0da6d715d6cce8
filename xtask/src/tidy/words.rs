//! Finds phrases that are not plain English, in prose and in names, and British spelling.

/// Banned phrases in lower case; a name counts with its underscores as blanks.
#[rustfmt::skip]
const PHRASES: &[&str] = &[
    // Compressed relatives.
    "all of which", "both of which", "many of which", "most of which", "some of which",
    "that under which", "those under", "two of which", "upon which", "without which", "but where", "in so far",
    "save that", "so far as", "the same as those", "a row each", "a sample each", "a view each", "but for",
    "each of which", "in whatever order", "none of which", "nothing of", "of theirs", "one a line", "save for",
    "of which nothing", "that is none", "that of them", "those of them", "what is left",
    // Code is not a person.
    "asked about", "asks how", "asks whether", "believes", "fears", "hear", "hears", "hopes", "in company", "in silence",
    "is heard", "knows anything", "knows how", "knows no", "knows nothing", "knows of", "knows that", "knows what",
    "knows whether", "lets pass", "likes", "looks at", "say more", "says how", "says nothing", "says so", "says that",
    "says what", "says whether", "sees nothing", "sees that", "sees to", "speak against", "speaks against", "speaks for",
    "stand above", "stand beside", "stands above", "stands below", "stands beside", "tell apart", "tells apart",
    "tells nothing", "tells of", "tells that", "tells what", "tells whether", "thinks", "told", "trusts", "wants to",
    "wishes", "worth a word",
    "anybody", "by whom", "everybody", "for whom", "from whom", "most of whom", "somebody", "to whom", "who asks",
    "who knows", "who reads", "who says", "whoever", "whomever",
    // Words that are out of use.
    "at odds", "begins afresh", "begins anew", "bytes a sample", "came of", "comes of", "gone through", "hereby", "herein", "in its stead",
    "in their stead", "lest", "nats a sample", "passed over", "thence", "thereby", "therein", "thereof", "whence", "whereby",
    "wherein", "in vain", "to be had",
];

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

/// Returns the banned phrases of a line.
pub(super) fn banned(line: &str) -> impl Iterator<Item = &'static str> {
    let words: Vec<String> = line
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    let words = format!(" {} ", words.join(" "));
    PHRASES.iter().copied().filter(move |phrase| words.contains(&format!(" {phrase} ")))
}

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
    fn phrases_are_found_in_prose_and_in_names() {
        let phrase = PHRASES[0];
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
