//! Prints the answers of the bridge for people.

use bridge_protocol::invisible::visible_line;
use serde_json::Value;

use super::messages::{AdminAnswer, Row};

/// The maximum width of a column. Longer texts are in the JSON.
const MAX_COLUMN_CHARS: usize = 64;

/// The text of an answer, as printed.
pub(super) fn text(answer: &AdminAnswer) -> String {
    let mut text = String::new();
    if let Some(rows) = &answer.rows {
        text.push_str(&table(rows));
    }
    if let Some(message) = &answer.message {
        text.push_str(message);
        text.push('\n');
    }
    if let Some(next) = &answer.next {
        text.push_str(&format!("There is more: --after {next}\n"));
    }
    text
}

fn table(rows: &[Row]) -> String {
    let Some(first) = rows.first() else {
        return "none\n".to_owned();
    };
    let titles: Vec<String> = first.keys().cloned().collect();
    let mut lines = vec![titles.clone()];
    for row in rows {
        let cells = titles.iter().map(|title| cell(row.get(title)));
        lines.push(cells.collect());
    }
    let width = |column: usize| {
        let cells = lines.iter().map(|line| line[column].chars().count());
        cells.max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..titles.len()).map(width).collect();
    let mut text = String::new();
    for line in &lines {
        let cells = line.iter().zip(&widths);
        let cells: Vec<_> = cells
            .map(|(cell, width)| format!("{cell:width$}"))
            .collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// The text of a value. Pages and clients choose some of them, so nothing in it controls a terminal.
fn cell(value: Option<&Value>) -> String {
    let text = match value {
        None | Some(Value::Null) => return "-".to_owned(),
        Some(Value::String(text)) => visible_line(text).into_owned(),
        Some(other) => other.to_string(),
    };
    match text.char_indices().nth(MAX_COLUMN_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rows_are_aligned_and_cannot_control_the_terminal() {
        let row = |page: &str, calls: Value| match json!({ "page": page, "calls": calls }) {
            Value::Object(row) => row,
            _ => unreachable!(),
        };
        let answer = AdminAnswer {
            rows: Some(vec![
                row("a", json!(1)),
                row("\u{1b}[2J\n", Value::Null),
                row(&"x".repeat(MAX_COLUMN_CHARS + 1), json!(22)),
            ]),
            next: Some("there".to_owned()),
            message: None,
        };
        let printed = text(&answer);
        let lines: Vec<_> = printed.lines().collect();
        let long = "x".repeat(MAX_COLUMN_CHARS);
        assert_eq!(lines[0], format!("{:65}  calls", "page"));
        assert_eq!(lines[1], format!("{:65}  1", "a"));
        assert_eq!(lines[2], format!("{:65}  -", "\\u{1b}[2J\\u{a}"));
        assert_eq!(lines[3], format!("{long}…  22"));
        assert_eq!(lines[4], "There is more: --after there");
        let empty = AdminAnswer {
            rows: Some(Vec::new()),
            ..AdminAnswer::default()
        };
        assert_eq!(text(&empty), "none\n");
    }
}
