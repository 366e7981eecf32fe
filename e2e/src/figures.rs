//! Figures for the end of the report of a test run.

use std::io::Write;

/// Prints figures, which `cargo xtask test` repeats at the end of its report.
pub fn print_figures(figures: &str) {
    // The test harness captures `print!`, but figures should always be visible.
    let line = format!("figures: {figures}\n");
    std::io::stdout().write_all(line.as_bytes()).unwrap();
}
