//! The lines of a text: how they end, and where an error is.

/// Returns the line break of a text: its first one.
pub fn line_break(text: &str) -> &'static str {
    match text.find('\n') {
        Some(end) if text[..end].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

/// Returns an error with the line and the column of an offset in bytes. Columns are characters.
pub fn error_at(text: &str, offset: usize, problem: &str) -> String {
    let before = &text[..offset];
    let line = before.matches('\n').count() + 1;
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    let column = before[line_start..].chars().count() + 1;
    format!("line {line}, column {column}: {problem}")
}
