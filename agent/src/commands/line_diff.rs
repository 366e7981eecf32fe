//! The difference between two texts, by lines.

use std::time::{Duration, Instant};

use similar::{Algorithm, DiffTag, capture_diff_slices_deadline, group_diff_ops};

/// The lines around a difference that are shown with it.
const CONTEXT_LINES: usize = 3;

/// The time to look for the shortest difference. After it, the difference is right, but may be longer:
/// the texts are those of servers, which may be made to be slow.
const TIMEOUT: Duration = Duration::from_secs(1);

/// Returns the lines that differ: `- ` before those of `before`, `+ ` before those of `now`, with the
/// lines around them. `…` stands for lines that are left out.
pub(super) fn line_diff(before: &str, now: &str) -> Vec<String> {
    // A line break at the end is a line that is empty, so that it can be seen.
    let [before, now] = [before, now].map(|text| text.split('\n').collect::<Vec<_>>());
    let deadline = Some(Instant::now() + TIMEOUT);
    let operations = capture_diff_slices_deadline(Algorithm::Myers, &before, &now, deadline);
    let mut lines = Vec::new();
    let mut end = 0;
    for operation in group_diff_ops(operations, CONTEXT_LINES).concat() {
        let (tag, old, new) = operation.as_tag_tuple();
        if old.start > end {
            lines.push("…".to_owned());
        }
        end = old.end;
        if tag == DiffTag::Equal {
            lines.extend(before[old].iter().map(|line| format!("  {line}")));
        } else {
            lines.extend(before[old].iter().map(|line| format!("- {line}")));
            lines.extend(now[new].iter().map(|line| format!("+ {line}")));
        }
    }
    if end < before.len() {
        lines.push("…".to_owned());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_were_removed_moved_or_repeated_are_shown() {
        assert_eq!(line_diff("a\nb\nc", "a\nc"), ["  a", "- b", "  c"]);
        assert_eq!(line_diff("a\nb", "b\na"), ["+ b", "  a", "- b"]);
        assert_eq!(line_diff("a\na", "a"), ["  a", "- a"]);
        assert_eq!(line_diff("a", "a\n"), ["  a", "+ "]);
        assert_eq!(line_diff("", "a"), ["- ", "+ a"]);
        assert_eq!(line_diff("a", "a"), ["…"]);
    }

    #[test]
    fn three_lines_around_a_difference_are_shown() {
        let before: Vec<_> = (0..20).map(|line| line.to_string()).collect();
        let mut now = before.clone();
        now[1] = "x".to_owned();
        now.remove(15);
        let expected = [
            "  0", "- 1", "+ x", "  2", "  3", "  4", "…", "  12", "  13", "  14", "- 15", "  16",
            "  17", "  18", "…",
        ];
        assert_eq!(line_diff(&before.join("\n"), &now.join("\n")), expected);
    }

    #[test]
    fn texts_that_are_made_to_be_slow_are_compared_in_time() {
        let text = |seed: usize| -> String {
            (0..200_000)
                .map(|line| format!("{}\n", line * seed % 1009))
                .collect()
        };
        let started = Instant::now();
        assert!(!line_diff(&text(7), &text(11)).is_empty());
        assert!(started.elapsed() < Duration::from_secs(60));
    }
}
