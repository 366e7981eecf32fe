//! Markdown tables, and the formats of what is in them.

use std::fmt::Write;
use std::fs;
use std::time::Duration;

/// A Markdown table.
pub(crate) struct Table(String);

impl Table {
    pub(crate) fn new(columns: &[&str]) -> Self {
        let mut table = Self(String::new());
        table.row(columns);
        let _ = writeln!(table.0, "|{}", "---|".repeat(columns.len()));
        table
    }

    pub(crate) fn row<C: AsRef<str>>(&mut self, cells: &[C]) {
        for cell in cells {
            let _ = write!(self.0, "| {} ", cell.as_ref());
        }
        self.0.push_str("|\n");
    }

    /// Returns the section: the machine, how it was measured there, and the table.
    pub(crate) fn section(&self, conditions: &str) -> String {
        format!("{} {}", machine(), self.with_conditions(conditions))
    }

    /// Returns how it was measured on the machine of the section, and the table.
    pub(crate) fn with_conditions(&self, conditions: &str) -> String {
        format!("{conditions}\n\n{}", self.0.trim_end())
    }
}

/// Formats a time with three digits, in the unit in which it has the fewest.
pub(crate) fn time(time: Duration) -> String {
    match time.as_secs_f64() * 1e6 {
        us if us < 99.95 => format!("{us:.1} µs"),
        us if us < 999.5 => format!("{us:.0} µs"),
        us if us < 99_950.0 => format!("{:.1} ms", us / 1e3),
        us if us < 999_500.0 => format!("{:.0} ms", us / 1e3),
        us => format!("{:.2} s", us / 1e6),
    }
}

/// Formats a time as a multiple of another one, with the time in parentheses.
pub(crate) fn ratio(value: Duration, base: Duration) -> String {
    let ratio = value.as_secs_f64() / base.as_secs_f64();
    format!("{ratio:.2}× ({})", time(value))
}

/// Formats bytes in mebibytes.
pub(crate) fn mib(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

/// Formats the part of `total` that belongs to each of `count` items, in kibibytes.
pub(crate) fn kib_each(total: u64, count: usize) -> String {
    format!("{:.1} KiB", total as f64 / 1024.0 / count.max(1) as f64)
}

/// Formats a number with a comma before each group of three digits.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns the average of a time over `count` items.
pub(crate) fn each(time: Duration, count: usize) -> Duration {
    time.div_f64(count.max(1) as f64)
}

/// Describes processor, kernel and other work of this machine in sentences.
fn machine() -> String {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    // This process may be pinned to one of them.
    let cores = cpu
        .lines()
        .filter(|line| line.starts_with("processor"))
        .count();
    let cpu = cpu.lines().find_map(|line| line.strip_prefix("model name"));
    let cpu = cpu.map_or("unknown", |name| name.trim_start_matches([' ', '\t', ':']));
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!(
        "Measured on {cores} cores of {cpu} with Linux {}.",
        kernel.trim()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_digits_and_a_unit() {
        for (us, text) in [
            (5.04, "5.0 µs"),
            (204.0, "204 µs"),
            (1_540.0, "1.5 ms"),
            (154_000.0, "154 ms"),
            (2_040_000.0, "2.04 s"),
        ] {
            assert_eq!(time(Duration::from_secs_f64(us / 1e6)), text);
        }
        let [value, base] = [30, 20].map(Duration::from_micros);
        assert_eq!(ratio(value, base), "1.50× (30.0 µs)");
    }

    #[test]
    fn numbers_are_grouped_and_sizes_have_a_unit() {
        assert_eq!(
            [0, 999, 1_000, 10_000_000].map(thousands),
            ["0", "999", "1,000", "10,000,000"]
        );
        assert_eq!(mib(3 << 19), "1.5 MiB");
        assert_eq!(kib_each(9 * 1024, 2), "4.5 KiB");
    }

    #[test]
    fn a_section_has_the_machine_the_conditions_and_the_table() {
        let mut table = Table::new(&["a", "b"]);
        table.row(&["1", "2"]);
        let text = table.section("For a second.");
        assert!(text.starts_with("Measured on "), "{text}");
        assert!(
            text.ends_with("For a second.\n\n| a | b |\n|---|---|\n| 1 | 2 |"),
            "{text}"
        );
    }
}
