//! Escapes text from files before it is shown.

/// Returns the character, or its code if it is invisible: a control character other than line end and tab, or a mark
/// that changes the direction of the text after it.
pub(crate) fn escape_control(c: char) -> String {
    let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    match c {
        '\n' | '\t' => c.to_string(),
        // XML forbids these two.
        '\u{fffe}' | '\u{ffff}' => c.escape_unicode().to_string(),
        c if c.is_control() || turns => c.escape_unicode().to_string(),
        c => c.to_string(),
    }
}
