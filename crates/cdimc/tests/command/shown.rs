//! Checks of texts.

/// Checks of a text, which is shown if it fails one.
pub(crate) trait Shown {
    fn has(&self, part: &str) -> &Self;
}

impl Shown for str {
    #[track_caller]
    fn has(&self, part: &str) -> &Self {
        assert!(self.contains(part), "`{part}` is not in\n{self}");
        self
    }
}
