//! The position of a tool's name in its definition's text, stored instead of a copy to save one
//! allocation per tool.

/// A byte range of a text, whose start and length fit into 16 bits.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NameSpan {
    start: u16,
    length: u16,
}

impl NameSpan {
    /// The first place where `text` contains `name`. `None` if there is none, or if the start or
    /// the length does not fit into 16 bits.
    pub(super) fn find(name: &str, text: &str) -> Option<Self> {
        Some(Self {
            start: u16::try_from(text.find(name)?).ok()?,
            length: u16::try_from(name.len()).ok()?,
        })
    }

    /// The part of `text` in this range; `text` must be the one that was searched.
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
