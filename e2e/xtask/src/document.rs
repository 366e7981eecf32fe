//! Documents with a section that a command generates, between two HTML comments.

use std::fs;

use anyhow::{Context, Result};

use crate::Workspace;

/// Replaces the section of `document` that `command` generates with `text`.
pub(crate) fn write_section(
    workspace: &Workspace,
    document: &str,
    command: &str,
    text: &str,
) -> Result<()> {
    let path = workspace.path(document);
    let advice = || format!("make {document} readable and writable");
    let before = fs::read_to_string(&path).with_context(advice)?;
    let after = with_section(&before, document, command, text)?;
    fs::write(&path, after).with_context(advice)
}

/// Returns whether the section of `document` that `command` generates is `text` already.
pub(crate) fn has_section(
    workspace: &Workspace,
    document: &str,
    command: &str,
    text: &str,
) -> Result<bool> {
    let path = workspace.path(document);
    let before = fs::read_to_string(&path).with_context(|| format!("restore {document}"))?;
    Ok(with_section(&before, document, command, text)? == before)
}

fn with_section(before: &str, document: &str, command: &str, text: &str) -> Result<String> {
    replace_section(before, command, text).with_context(|| {
        let [begin, end] = section_markers(command);
        format!("{document} has no section for `{command}`: restore `{begin}` and `{end}`")
    })
}

/// Returns the comments before and after the section of a command.
fn section_markers(command: &str) -> [String; 2] {
    [
        format!("<!-- What follows is written by `{command}`. -->\n"),
        format!("<!-- The end of what is written by `{command}`. -->"),
    ]
}

/// Returns `document` with the section of `command` replaced, or `None` if it has no such section.
pub(crate) fn replace_section(document: &str, command: &str, text: &str) -> Option<String> {
    let [begin, end] = section_markers(command);
    let (before, rest) = document.split_once(&begin)?;
    let (_, after) = rest.split_once(&end)?;
    Some(format!(
        "{before}{begin}\n{}\n\n{end}{after}",
        text.trim_end()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replacing_a_section_leaves_the_others_unchanged() {
        let [begin, end] = section_markers("a large");
        let [other, its_end] = section_markers("a calls");
        let rest = format!("{other}a table\n{its_end}\nthe rest\n");
        let document = format!("# Title\n{begin}old\n{end}\n{rest}");
        let once = replace_section(&document, "a large", "new\n").unwrap();
        assert_eq!(once, format!("# Title\n{begin}\nnew\n\n{end}\n{rest}"));
        assert_eq!(replace_section(&once, "a large", "new\n").unwrap(), once);
        assert_eq!(replace_section("no markers", "a large", "new"), None);
    }
}
