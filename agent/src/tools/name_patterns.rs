//! Patterns for the names of tools, such as `read_*`.

use globset::{Glob, GlobSet, GlobSetBuilder};

/// Patterns for the names of tools.
#[derive(Debug)]
pub(crate) struct NamePatterns {
    set: GlobSet,
    /// What each pattern begins with, up to its first special character.
    beginnings: Vec<String>,
}

/// The characters that are special in a pattern.
const SPECIAL: [char; 5] = ['*', '?', '[', '{', '\\'];

impl NamePatterns {
    /// Parses patterns. `key` is what an error calls them.
    pub(crate) fn parse(key: &str, patterns: &[String]) -> Result<Self, String> {
        let mut set = GlobSetBuilder::new();
        for pattern in patterns {
            let glob = Glob::new(pattern).map_err(|error| {
                format!("`{pattern}` in `{key}` is no pattern: {}", error.kind())
            })?;
            set.add(glob);
        }
        let set = set.build().map_err(|error| {
            format!("`{key}` has patterns that are too large: {}", error.kind())
        })?;
        let beginning = |pattern: &String| {
            let end = pattern.find(SPECIAL).unwrap_or(pattern.len());
            pattern[..end].to_owned()
        };
        Ok(Self {
            set,
            beginnings: patterns.iter().map(beginning).collect(),
        })
    }

    pub(crate) fn is_match(&self, name: &str) -> bool {
        self.set.is_match(name)
    }

    /// Returns whether a name that begins with this could match.
    pub(crate) fn can_match_beginning(&self, beginning: &str) -> bool {
        let can_match =
            |it: &String| it.starts_with(beginning) || beginning.starts_with(it.as_str());
        self.beginnings.iter().any(can_match)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.set.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_can_match_names_that_begin_as_it_does() {
        let patterns = |pattern: &str| NamePatterns::parse("allow", &[pattern.to_owned()]).unwrap();
        for (pattern, can_match) in [
            ("notes-*", true),
            ("notes-read_file", true),
            ("*", true),
            ("no?es-*", true),
            ("n{otes,ews}-*", true),
            ("mail-*", false),
            ("notesx-*", false),
        ] {
            assert_eq!(
                patterns(pattern).can_match_beginning("notes-"),
                can_match,
                "{pattern}"
            );
        }
        assert!(NamePatterns::parse("allow", &[]).unwrap().is_empty());
    }
}
