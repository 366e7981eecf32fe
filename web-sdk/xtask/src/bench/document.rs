use std::fs;
use std::thread::available_parallelism;

use anyhow::{Context, Result};

use crate::Workspace;

const DOCUMENT: &str = "docs/benchmarks.md";
/// The core with the highest number.
pub(super) fn last_core() -> usize {
    available_parallelism().map_or(0, |cores| cores.get() - 1)
}

/// On what machine it was measured.
pub(super) fn machine(profile: &str) -> String {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cpu = cpu.lines().find_map(|line| line.strip_prefix("model name"));
    let cpu = cpu.map_or("unknown", |name| name.trim_start_matches([' ', '\t', ':']));
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!(
        "Measured on {} cores of {cpu} with Linux {}, built with the profile `{profile}`",
        last_core() + 1,
        kernel.trim(),
    )
}

/// Puts the text where the docs show this section.
pub(super) fn write(workspace: &Workspace, section: &str, text: &str) -> Result<()> {
    let path = workspace.path(DOCUMENT);
    let advice = || format!("make {DOCUMENT} readable and writable");
    let document = fs::read_to_string(&path).with_context(advice)?;
    let document = with(&document, section, text).with_context(|| {
        let [begin, end] = marks(section);
        format!("{DOCUMENT} has no place for these figures: restore `{begin}` and `{end}`")
    })?;
    fs::write(&path, document).with_context(advice)
}

/// What stands before the figures of a section, and behind them.
fn marks(section: &str) -> [String; 2] {
    let command = format!("`cargo xtask bench --only {section}`");
    [
        format!("<!-- What follows is written by {command}. -->\n"),
        format!("<!-- The end of what is written by {command}. -->"),
    ]
}

fn with(document: &str, section: &str, text: &str) -> Option<String> {
    let [begin, end] = marks(section);
    let (before, rest) = document.split_once(&begin)?;
    let (_, after) = rest.split_once(&end)?;
    Some(format!(
        "{before}{begin}\n{}\n\n{end}{after}",
        text.trim_end()
    ))
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::super::Section;
    use super::*;

    #[test]
    fn figures_replace_those_before_and_nothing_else() {
        let [begin, end] = marks("large");
        let [other, its_end] = marks("calls");
        let rest = format!("{other}kept\n{its_end}\nthe rest\n");
        let document = format!("# Title\n{begin}old\n{end}\n{rest}");
        let once = with(&document, "large", "new\n").unwrap();
        assert_eq!(once, format!("# Title\n{begin}\nnew\n\n{end}\n{rest}"));
        assert_eq!(with(&once, "large", "new\n").unwrap(), once);
        assert_eq!(with("no marks", "large", "new"), None);
    }

    #[test]
    fn the_document_has_a_place_for_each_section() {
        let document = fs::read_to_string(Workspace::here().path(DOCUMENT)).unwrap();
        for section in Section::value_variants() {
            let name = section.name();
            assert!(with(&document, &name, "").is_some(), "{name}");
        }
    }
}
