//! The notes of a version: its section of CHANGELOG.md.

use std::fs;

use anyhow::{Context, Result};

use super::product::VERSION;
use crate::Workspace;

/// The section of what is in no version yet.
const UNRELEASED: &str = "Unreleased";

/// Returns the section of this version, or that of the next one while it has none.
pub(super) fn section(workspace: &Workspace) -> Result<String> {
    let path = workspace.path("CHANGELOG.md");
    let text = fs::read_to_string(&path).with_context(|| format!("restore {}", path.display()))?;
    let found = find(&text, VERSION).or_else(|| find(&text, UNRELEASED));
    found.with_context(|| {
        format!("CHANGELOG.md must have a section `## {VERSION}` or `## {UNRELEASED}`")
    })
}

/// Returns the text between a heading of the second level and the next one.
fn find(changelog: &str, title: &str) -> Option<String> {
    let is_heading = |line: &str| {
        let words = line.strip_prefix("## ")?;
        (words.split(' ').next()? == title).then_some(())
    };
    let mut lines = changelog.lines();
    lines.find(|line| is_heading(line).is_some())?;
    let section: Vec<_> = lines.take_while(|line| !line.starts_with("## ")).collect();
    Some(format!("{}\n", section.join("\n").trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_ends_at_the_next_version() {
        let text = "# Changelog\n\n## Unreleased\n\n- A\n\n### More\n\n- B\n\n## 0.2.0 – 2026-12-01\n\n- C\n";
        assert_eq!(
            find(text, "Unreleased").unwrap(),
            "- A\n\n### More\n\n- B\n"
        );
        assert_eq!(find(text, "0.2.0").unwrap(), "- C\n");
        assert_eq!(find(text, "0.2"), None);
    }

    #[test]
    fn the_changelog_has_a_section_for_this_version() {
        assert!(section(&Workspace::here()).unwrap().len() > 100);
    }
}
