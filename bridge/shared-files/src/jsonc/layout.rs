//! The indentation and the line breaks of a text, and values that are written in the same way.

use serde_json::{Map, Value};

use crate::text_lines::line_break;

/// The indentation of a text that shows none.
const DEFAULT_INDENT: &str = "  ";

/// How a text breaks and indents its lines.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout<'a> {
    pub(super) line_break: &'static str,
    /// The indentation of one level.
    pub(super) indent: &'a str,
}

impl<'a> Layout<'a> {
    /// Returns the layout of a text, whose outermost object has its first member at an offset.
    pub(super) fn of(text: &'a str, first_member: Option<usize>) -> Self {
        let indent = first_member.and_then(|offset| line_start(text, offset));
        Self {
            line_break: line_break(text),
            indent: indent.filter(|it| !it.is_empty()).unwrap_or(DEFAULT_INDENT),
        }
    }

    /// Writes a value over several lines. The first line has no indentation, and the last one that of
    /// `outer`.
    pub(super) fn render(self, value: &Value, outer: &str) -> String {
        match value {
            Value::Object(members) if !members.is_empty() => self.render_object(members, outer),
            Value::Array(items) if items.iter().any(is_container) => {
                let items = items.iter();
                self.render_lines('[', items, ']', outer, |item, inner| {
                    self.render(item, inner)
                })
            }
            Value::Array(items) => {
                let items: Vec<_> = items.iter().map(Value::to_string).collect();
                format!("[{}]", items.join(", "))
            }
            _ => value.to_string(),
        }
    }

    fn render_object(self, members: &Map<String, Value>, outer: &str) -> String {
        self.render_lines('{', members.iter(), '}', outer, |(key, value), inner| {
            self.render_member(key, value, inner)
        })
    }

    /// Writes a key and its value, whose last line has the indentation `outer`.
    pub(super) fn render_member(self, key: &str, value: &Value, outer: &str) -> String {
        let key = Value::from(key);
        format!("{key}: {}", self.render(value, outer))
    }

    fn render_lines<T>(
        self,
        open: char,
        items: impl Iterator<Item = T>,
        close: char,
        outer: &str,
        render: impl Fn(T, &str) -> String,
    ) -> String {
        let line_break = self.line_break;
        let inner = format!("{outer}{}", self.indent);
        let items: Vec<_> = items
            .map(|item| format!("{line_break}{inner}{}", render(item, &inner)))
            .collect();
        format!("{open}{}{line_break}{outer}{close}", items.join(","))
    }
}

/// Writes a value as a new file would have it: over several lines, with two spaces for each level.
pub fn render_value(value: &Value) -> String {
    Layout::of("", None).render(value, "")
}

fn is_container(value: &Value) -> bool {
    value.is_object() || value.is_array()
}

/// Returns the white space before an offset if only that is before it on its line.
pub(super) fn line_start(text: &str, offset: usize) -> Option<&str> {
    let start = text[..offset].rfind('\n')? + 1;
    let before = &text[start..offset];
    before.trim().is_empty().then_some(before)
}

/// Returns the white space with which the line of an offset begins.
pub(super) fn line_indent(text: &str, offset: usize) -> &str {
    let start = text[..offset].rfind('\n').map_or(0, |end| end + 1);
    let line = &text[start..offset];
    &line[..line.len() - line.trim_start().len()]
}
