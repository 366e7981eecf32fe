//! The output of failed tests, which the report repeats at its end.

/// Maximum number of lines of a failure that are repeated.
const MAX_LINES: usize = 12;
/// Maximum number of characters of such a line that are repeated.
const MAX_CHARS: usize = 500;

/// Takes the lines of the test harness of Rust or of wasm-bindgen, and keeps the beginning of what
/// each failed test printed.
#[derive(Default)]
pub(super) struct Failures {
    failures: Vec<String>,
    /// How many more lines of the current failure are kept.
    lines_left: usize,
}

impl Failures {
    pub(super) fn take_line(&mut self, line: &str) {
        if let Some(name) = failed_test(line) {
            self.failures.push(name.to_owned());
            self.lines_left = MAX_LINES;
            return;
        }
        if matches!(line, "failures:" | "stack backtrace:") {
            self.lines_left = 0;
        }
        let Some(failure) = self.failures.last_mut().filter(|_| self.lines_left > 0) else {
            return;
        };
        if !line.trim().is_empty() {
            self.lines_left -= 1;
            failure.push_str("\n    ");
            failure.extend(line.chars().take(MAX_CHARS));
        }
    }

    /// Returns the failures in their order: the name of the test, then what it printed.
    pub(super) fn into_vec(self) -> Vec<String> {
        self.failures
    }
}

/// Returns the name of the test whose output begins after this line.
fn failed_test(line: &str) -> Option<&str> {
    let name = line.strip_prefix("---- ")?.strip_suffix(" ----")?;
    let streams = [" stdout", " output"];
    Some(
        streams
            .iter()
            .find_map(|stream| name.strip_suffix(stream))
            .unwrap_or(name),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failures_of(output: &str) -> Vec<String> {
        let mut failures = Failures::default();
        for line in output.lines() {
            failures.take_line(line);
        }
        failures.into_vec()
    }

    #[test]
    fn the_output_of_each_failed_test_is_kept_without_its_backtrace() {
        let output = "\
test a::first ... FAILED
test second ... ok

failures:

---- a::first stdout ----

thread 'a::first' (12) panicked at src/lib.rs:3:5:
1 is not 2
stack backtrace:
   0: __rustc::rust_begin_unwind

---- third stdout ----
a line

failures:
    a::first
    third

test result: FAILED. 1 passed; 2 failed; 0 ignored";
        assert_eq!(
            failures_of(output),
            [
                "a::first\n    thread 'a::first' (12) panicked at src/lib.rs:3:5:\n    1 is not 2",
                "third\n    a line"
            ]
        );
    }

    #[test]
    fn long_outputs_are_cut() {
        let long = "x".repeat(2 * MAX_CHARS);
        let lines = vec![long.as_str(); 2 * MAX_LINES].join("\n");
        let failures = failures_of(&format!("---- a stdout ----\n{lines}"));
        let kept: Vec<_> = failures[0].lines().skip(1).map(str::trim).collect();
        assert_eq!(kept, vec![&long[..MAX_CHARS]; MAX_LINES]);
    }
}
