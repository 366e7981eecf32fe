//! The machine on which the measurements run.

use std::fs;
use std::thread::available_parallelism;

/// Returns the number of the last core.
pub(super) fn last_core() -> usize {
    available_parallelism().map_or(0, |cores| cores.get() - 1)
}

/// Describes processor, kernel and build profile as the beginning of a sentence.
pub(super) fn description(profile: &str) -> String {
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
