//! A path as a model gave it, for errors.

use std::fmt;

use agent_tools::text;

use super::limits::MAX_GIVEN_CHARS;

/// A path in an error: the beginning of what the model gave, quoted.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct GivenPath(String);

impl GivenPath {
    pub(super) fn new(given: &str) -> Self {
        Self(format!("{:?}", text::shorten(given, MAX_GIVEN_CHARS)))
    }
}

impl fmt::Display for GivenPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}
