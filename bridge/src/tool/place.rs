//! Where a name stands in the text that it was read from: a copy would be an allocation for each
//! tool.

/// A piece of a text.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    start: u16,
    length: u16,
}

impl Place {
    /// Where `part` stands in `text`; any place where it does is as good. `None` where it stands
    /// nowhere, or too far from the beginning.
    pub(super) fn of(part: &str, text: &str) -> Option<Self> {
        Some(Self {
            start: u16::try_from(text.find(part)?).ok()?,
            length: u16::try_from(part.len()).ok()?,
        })
    }

    /// What stands there, in the same text.
    pub(super) fn within(self, text: &str) -> &str {
        let start = usize::from(self.start);
        let end = start + usize::from(self.length);
        text.get(start..end).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_stands_there() {
        let text = r#"{"title":"ü name","name":"ü"}"#;
        for part in ["name", "ü name", "ü", "", text] {
            let place = Place::of(part, text).unwrap();
            assert_eq!(place.within(text), part);
        }
        assert!(Place::of("names", text).is_none());
        let long = "x".repeat(70_000);
        assert!(Place::of(&long, &long).is_none());
        assert!(Place::of("y", &format!("{long}y")).is_none());
    }
}
