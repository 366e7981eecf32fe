//! Patterns for the names of tools, such as `read_*`.

use globset::{Glob, GlobSet, GlobSetBuilder};

/// Patterns for the names of tools.
#[derive(Debug)]
pub(crate) struct NamePatterns(GlobSet);

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
        Ok(Self(set))
    }

    pub(crate) fn is_match(&self, name: &str) -> bool {
        self.0.is_match(name)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
