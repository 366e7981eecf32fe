//! Patterns for the names of tools, such as `read_*`.

use std::collections::BTreeSet;

use globset::{Glob, GlobSet, GlobSetBuilder};

/// Patterns for the names of tools.
#[derive(Debug)]
pub(crate) struct NamePatterns {
    set: GlobSet,
    /// The patterns in the order of the set.
    patterns: Vec<String>,
}

/// The characters that are special in a pattern.
const SPECIAL: [char; 5] = ['*', '?', '[', '{', '\\'];

impl NamePatterns {
    /// Parses patterns. `key` is their name in errors.
    pub(crate) fn parse(key: &str, patterns: &[String]) -> Result<Self, String> {
        let mut set = GlobSetBuilder::new();
        for pattern in patterns {
            let glob = Glob::new(pattern).map_err(|error| {
                format!("`{pattern}` in `{key}` is not a pattern: {}", error.kind())
            })?;
            set.add(glob);
        }
        let set = set.build().map_err(|error| {
            format!("`{key}` has patterns that are too large: {}", error.kind())
        })?;
        Ok(Self {
            set,
            patterns: patterns.to_vec(),
        })
    }

    pub(crate) fn is_match(&self, name: &str) -> bool {
        self.set.is_match(name)
    }

    /// Returns whether a name that begins with this could match.
    pub(crate) fn can_match_beginning(&self, beginning: &str) -> bool {
        let mut patterns = self.patterns.iter();
        patterns.any(|pattern| can_match(pattern, beginning))
    }

    /// Returns the patterns that match none of these names, and could not match a name that begins
    /// with one of `beginnings`.
    pub(crate) fn without_match(&self, names: &[&str], beginnings: &[String]) -> Vec<&str> {
        let matched: BTreeSet<_> = names.iter().flat_map(|it| self.set.matches(it)).collect();
        let is_without = |(index, pattern): &(usize, &String)| {
            let could_match = beginnings.iter().any(|it| can_match(pattern, it));
            !matched.contains(index) && !could_match
        };
        let patterns = self.patterns.iter().enumerate().filter(is_without);
        patterns.map(|(_, pattern)| pattern.as_str()).collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.set.is_empty()
    }
}

/// Returns what a pattern begins with, up to its first special character.
pub(super) fn literal_beginning(pattern: &str) -> &str {
    let end = pattern.find(SPECIAL).unwrap_or(pattern.len());
    &pattern[..end]
}

fn can_match(pattern: &str, beginning: &str) -> bool {
    let literal = literal_beginning(pattern);
    literal.starts_with(beginning) || beginning.starts_with(literal)
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
