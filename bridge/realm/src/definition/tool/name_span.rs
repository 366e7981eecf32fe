//! Where a name stands in the text that it was read from: a copy would be an allocation for each
//! tool.

/// A piece of a text.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NameSpan {
    start: u16,
    length: u16,
}

impl NameSpan {
    /// Where `part` stands in `text`; any place where it does is as good. `None` where it stands
    /// nowhere, or too far from the beginning.
    pub(super) fn find(name: &str, text: &str) -> Option<Self> {
        Some(Self {
            start: u16::try_from(text.find(name)?).ok()?,
            length: u16::try_from(name.len()).ok()?,
        })
    }

    /// What stands there, in the same text.
    pub(super) fn slice(self, text: &str) -> &str {
        let start = usize::from(self.start);
        let end = start + usize::from(self.length);
        text.get(start..end).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_found_span_slices_to_the_name() {
        let text = r#"{"title":"ü name","name":"ü"}"#;
        for part in ["name", "ü name", "ü", "", text] {
            let place = NameSpan::find(part, text).unwrap();
            assert_eq!(place.slice(text), part);
        }
        assert!(NameSpan::find("names", text).is_none());
        let long = "x".repeat(70_000);
        assert!(NameSpan::find(&long, &long).is_none());
        assert!(NameSpan::find("y", &format!("{long}y")).is_none());
    }
}
