use std::fs;
use std::thread::available_parallelism;

use anyhow::Result;

use crate::{Workspace, document};

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
    document::write_section(workspace, DOCUMENT, &command(section), text)
}

/// What writes a section.
fn command(section: &str) -> String {
    format!("cargo xtask bench --only {section}")
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::super::Section;
    use super::*;

    #[test]
    fn the_document_has_a_place_for_each_section() {
        let text = fs::read_to_string(Workspace::here().path(DOCUMENT)).unwrap();
        for section in Section::value_variants() {
            let name = section.name();
            assert!(
                document::replace_section(&text, &command(&name), "").is_some(),
                "{name}"
            );
        }
    }
}
