use std::fs;
use std::thread::available_parallelism;

use anyhow::{Context, Result};

use super::plan::{PAGES, Plan};
use crate::Workspace;

const DOCUMENT: &str = "docs/benchmarks.md";
const BEGIN: &str = "<!-- What follows is written by `cargo xtask bench`. -->\n";
const END: &str = "<!-- The end of what is written by `cargo xtask bench`. -->";

/// The core with the highest number.
pub(super) fn last_core() -> usize {
    available_parallelism().map_or(0, |cores| cores.get() - 1)
}

/// On what machine it was measured, and how.
pub(super) fn setting(plan: &Plan, profile: &str) -> String {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cpu = cpu.lines().find_map(|line| line.strip_prefix("model name"));
    let cpu = cpu.map_or("unknown", |name| name.trim_start_matches([' ', '\t', ':']));
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!(
        "Measured on {} cores of {cpu} with Linux {}, built with the profile `{profile}`; {PAGES} pages \
         with 10 tools each; {} s each time ({} s with 10 MB) after {} s of warming up, the median of {}.\n",
        last_core() + 1,
        kernel.trim(),
        plan.seconds,
        plan.seconds_for_largest,
        plan.warm_up,
        plan.rounds,
    )
}

/// Puts the text where the docs show it.
pub(super) fn write(workspace: &Workspace, text: &str) -> Result<()> {
    let path = workspace.path(DOCUMENT);
    let advice = || format!("make {DOCUMENT} readable and writable");
    let document = fs::read_to_string(&path).with_context(advice)?;
    let document = with(&document, text)
        .with_context(|| format!("{DOCUMENT} has no place for figures: restore its two marks"))?;
    fs::write(&path, document).with_context(advice)
}

fn with(document: &str, text: &str) -> Option<String> {
    let (before, rest) = document.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!(
        "{before}{BEGIN}\n{}\n\n{END}{after}",
        text.trim_end()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_replace_those_before_and_nothing_else() {
        let document = format!("# Title\n{BEGIN}old\n{END}\nthe rest\n");
        let once = with(&document, "new\n").unwrap();
        assert_eq!(once, format!("# Title\n{BEGIN}\nnew\n\n{END}\nthe rest\n"));
        assert_eq!(with(&once, "new\n").unwrap(), once);
        assert_eq!(with("no marks", "new"), None);
    }

    #[test]
    fn the_document_has_a_place_for_them() {
        let document = fs::read_to_string(Workspace::here().path(DOCUMENT)).unwrap();
        assert!(with(&document, "").is_some());
    }
}
