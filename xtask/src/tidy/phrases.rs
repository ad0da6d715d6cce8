//! Finds phrases that are not plain English, in prose and in names.

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
}
