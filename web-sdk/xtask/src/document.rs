//! Documents with a part that a command writes.

use std::fs;

use anyhow::{Context, Result};

use crate::Workspace;

/// Puts the text where the document shows what this command writes.
pub(crate) fn write(
    workspace: &Workspace,
    document: &str,
    command: &str,
    text: &str,
) -> Result<()> {
    let path = workspace.path(document);
    let advice = || format!("make {document} readable and writable");
    let before = fs::read_to_string(&path).with_context(advice)?;
    let after = written(&before, document, command, text)?;
    fs::write(&path, after).with_context(advice)
}

/// Whether the document has this text already.
pub(crate) fn has(
    workspace: &Workspace,
    document: &str,
    command: &str,
    text: &str,
) -> Result<bool> {
    let path = workspace.path(document);
    let before = fs::read_to_string(&path).with_context(|| format!("restore {document}"))?;
    Ok(written(&before, document, command, text)? == before)
}

fn written(before: &str, document: &str, command: &str, text: &str) -> Result<String> {
    with(before, command, text).with_context(|| {
        let [begin, end] = marks(command);
        format!("{document} has no place for this: restore `{begin}` and `{end}`")
    })
}

/// What stands before the text of a command, and behind it.
pub(crate) fn marks(command: &str) -> [String; 2] {
    [
        format!("<!-- What follows is written by `{command}`. -->\n"),
        format!("<!-- The end of what is written by `{command}`. -->"),
    ]
}

pub(crate) fn with(document: &str, command: &str, text: &str) -> Option<String> {
    let [begin, end] = marks(command);
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
    fn a_text_replaces_the_one_before_and_nothing_else() {
        let [begin, end] = marks("a large");
        let [other, its_end] = marks("a calls");
        let rest = format!("{other}kept\n{its_end}\nthe rest\n");
        let document = format!("# Title\n{begin}old\n{end}\n{rest}");
        let once = with(&document, "a large", "new\n").unwrap();
        assert_eq!(once, format!("# Title\n{begin}\nnew\n\n{end}\n{rest}"));
        assert_eq!(with(&once, "a large", "new\n").unwrap(), once);
        assert_eq!(with("no marks", "a large", "new"), None);
    }
}
