//! TOML: parsing, and changes of one member that leave the rest of the text unchanged. Only this
//! module uses the crate `toml_edit`.
//!
//! Its documents can also be changed, but then the line breaks of Windows are lost. Therefore the
//! changes here insert and cut lines of the text itself.

use std::ops::Range;

use bridge_shared_files::{error_at, line_break};
use serde_json::{Map, Value};
use toml_edit::{Document, InlineTable, Item, Table, TableLike, Value as TomlValue};

/// Parses a text. The error has the line and the column.
pub(crate) fn parse(text: &str) -> Result<Map<String, Value>, String> {
    let document = parse_document(text)?;
    Ok(table_members(document.as_table()))
}

fn parse_document(text: &str) -> Result<Document<&str>, String> {
    Document::parse(text).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start.min(text.len()));
        let message = error.message().lines().next().unwrap_or_default();
        error_at(text, offset, &format!("this is not TOML: {message}"))
    })
}

/// Returns the text with a member at the end of a path of keys. An existing value is replaced where it
/// is. A new table is added at the end, and a new value at the start of its table.
pub(crate) fn with_member(text: &str, path: &[&str], value: &Value) -> Result<String, String> {
    let document = parse_document(text)?;
    let Some((key, parents)) = path.split_last() else {
        return Err("the path has no keys".to_owned());
    };
    if let Some(item) = find(document.as_item(), path) {
        let range = item.as_value().and_then(TomlValue::span);
        let range = range.ok_or_else(|| format!("`{key}` is a table"))?;
        return Ok(spliced(text, range, &toml_value(value).to_string()));
    }
    let parent = find(document.as_item(), parents);
    if let Some(range) = parent
        .and_then(Item::as_inline_table)
        .and_then(InlineTable::span)
    {
        return Ok(with_inline_member(text, range, key, value));
    }
    if let Some(members) = value.as_object()
        && parents.len() == 1
    {
        return Ok(format!("{text}{}", new_table(text, path, members)));
    }
    let header = parent.and_then(Item::as_table).and_then(header);
    let header =
        header.ok_or_else(|| format!("`{}` is not a table with a header", parents.join(".")))?;
    let line_end = line_end(text, header.end);
    let has_break = text[..line_end].ends_with('\n');
    let line = format!("{} = {}", toml_key(key), toml_value(value));
    let line_break = line_break(text);
    let inserted = if has_break {
        format!("{line}{line_break}")
    } else {
        format!("{line_break}{line}")
    };
    Ok(spliced(text, line_end..line_end, &inserted))
}

/// Returns the text without the member at the end of a path of keys. Comments among the lines of a
/// table are removed with it.
pub(crate) fn without_member(text: &str, path: &[&str]) -> Result<String, String> {
    let document = parse_document(text)?;
    let Some((key, parents)) = path.split_last() else {
        return Ok(text.to_owned());
    };
    let (Some(parent), Some(item)) = (
        find(document.as_item(), parents),
        find(document.as_item(), path),
    ) else {
        return Ok(text.to_owned());
    };
    let mut ranges = Vec::new();
    match (parent.as_inline_table(), item) {
        (Some(table), Item::Value(value)) => ranges.push(inline_range(text, table, key, value)?),
        (_, Item::Value(value)) => {
            let start = parent.as_table().and_then(|table| table.key(key)?.span());
            let (Some(start), Some(end)) = (start, value.span()) else {
                return Err(format!("`{key}` has no place in the text"));
            };
            ranges.push(lines(text, start.start..end.end));
        }
        (_, Item::Table(table)) => table_ranges(text, table, false, &mut ranges)?,
        _ => return Err(format!("`{key}` is an array of tables")),
    }
    ranges.sort_by_key(|range| range.start);
    let mut text = text.to_owned();
    for range in ranges.into_iter().rev() {
        text = spliced(&text, with_empty_line(&text, range), "");
    }
    Ok(text)
}

/// Writes a table with a header, as a new file would have it.
pub(crate) fn render_table(path: &[&str], members: &Map<String, Value>) -> String {
    new_table("", path, members)
}

fn new_table(text: &str, path: &[&str], members: &Map<String, Value>) -> String {
    let line_break = line_break(text);
    let keys: Vec<_> = path.iter().map(|key| toml_key(key)).collect();
    let mut lines = vec![format!("[{}]", keys.join("."))];
    lines.extend(
        members
            .iter()
            .map(|(key, value)| format!("{} = {}", toml_key(key), toml_value(value))),
    );
    let separator = match text {
        "" => "",
        _ if text.ends_with('\n') => line_break,
        _ => &line_break.repeat(2),
    };
    format!("{separator}{}{line_break}", lines.join(line_break))
}

fn with_inline_member(text: &str, table: Range<usize>, key: &str, value: &Value) -> String {
    let (start, end) = (table.start + 1, table.end - 1);
    let member = format!("{} = {}", toml_key(key), toml_value(value));
    if text[start..end].trim().is_empty() {
        spliced(text, start..end, &format!(" {member} "))
    } else {
        spliced(text, start..start, &format!(" {member},"))
    }
}

/// Returns the range of a member of an inline table, with one of the commas beside it.
fn inline_range(
    text: &str,
    table: &InlineTable,
    key: &str,
    value: &TomlValue,
) -> Result<Range<usize>, String> {
    let start = table.key(key).and_then(|key| key.span());
    let (Some(start), Some(end)) = (start, value.span()) else {
        return Err(format!("`{key}` has no place in the text"));
    };
    let rest = text[end.end..].trim_start();
    if let Some(rest) = rest.strip_prefix(',') {
        return Ok(start.start..text.len() - rest.trim_start().len());
    }
    let before = text[..start.start].trim_end();
    let before = before.strip_suffix(',').unwrap_or(before);
    Ok(before.len()..end.end)
}

/// Collects the lines of a table, of its dotted keys, and of the tables below it. The lines of a
/// dotted table are `covered` by those of the table that has the header.
fn table_ranges(
    text: &str,
    table: &Table,
    covered: bool,
    ranges: &mut Vec<Range<usize>>,
) -> Result<(), String> {
    let header = header(table);
    let is_covered = header.is_some() || (covered && table.is_dotted());
    if let Some(header) = header {
        let end = header.end.max(values_end(table));
        ranges.push(lines(text, header.start..end));
    }
    for (key, item) in table.iter() {
        match item {
            Item::Table(child) => table_ranges(text, child, is_covered, ranges)?,
            Item::Value(_) if is_covered => {}
            Item::Value(value) => {
                let start = table.key(key).and_then(|key| key.span());
                let range = start.zip(value.span());
                let (start, end) =
                    range.ok_or_else(|| format!("`{key}` has no place in the text"))?;
                ranges.push(lines(text, start.start..end.end));
            }
            _ => return Err(format!("`{key}` is an array of tables")),
        }
    }
    Ok(())
}

/// Returns the end of the last value of a table and of its dotted keys.
fn values_end(table: &Table) -> usize {
    let ends = table.iter().map(|(_, item)| match item {
        Item::Value(value) => value.span().map_or(0, |span| span.end),
        Item::Table(child) if child.is_dotted() => values_end(child),
        _ => 0,
    });
    ends.max().unwrap_or_default()
}

/// Returns the range of the header of a table, if it has one.
fn header(table: &Table) -> Option<Range<usize>> {
    let has_header = !table.is_implicit() && !table.is_dotted();
    table.span().filter(|span| has_header && !span.is_empty())
}

/// Extends a range to whole lines.
fn lines(text: &str, range: Range<usize>) -> Range<usize> {
    let start = text[..range.start].rfind('\n').map_or(0, |end| end + 1);
    start..line_end(text, range.end)
}

fn line_end(text: &str, offset: usize) -> usize {
    text[offset..]
        .find('\n')
        .map_or(text.len(), |end| offset + end + 1)
}

/// Extends a range of lines to an empty line before it, if the lines would leave two of them, or one at
/// the end of the text. At the start of the text, it is extended to an empty line after it.
fn with_empty_line(text: &str, range: Range<usize>) -> Range<usize> {
    let (before, rest) = (&text[..range.start], &text[range.end..]);
    if before.is_empty() {
        let after = rest.strip_prefix("\r\n").or(rest.strip_prefix('\n'));
        return 0..text.len() - after.unwrap_or(rest).len();
    }
    let is_separate = rest.is_empty() || rest.starts_with(['\r', '\n']);
    for line_break in ["\r\n", "\n"] {
        let line = before.strip_suffix(line_break);
        if let Some(line) = line
            && is_separate
            && (line.is_empty() || line.ends_with('\n'))
        {
            return line.len()..range.end;
        }
    }
    range
}

fn spliced(text: &str, range: Range<usize>, replacement: &str) -> String {
    format!(
        "{}{replacement}{}",
        &text[..range.start],
        &text[range.end..]
    )
}

fn find<'a>(root: &'a Item, path: &[&str]) -> Option<&'a Item> {
    path.iter()
        .try_fold(root, |item, key| item.as_table_like()?.get(key))
}

fn toml_key(key: &str) -> String {
    toml_edit::Key::new(key).display_repr().into_owned()
}

fn toml_value(value: &Value) -> TomlValue {
    match value {
        Value::Null => TomlValue::from(""),
        Value::Bool(value) => (*value).into(),
        Value::Number(number) => match number.as_i64() {
            Some(number) => number.into(),
            None => number.as_f64().unwrap_or_default().into(),
        },
        Value::String(text) => text.as_str().into(),
        Value::Array(items) => items.iter().map(toml_value).collect(),
        Value::Object(members) => {
            let members = members
                .iter()
                .map(|(key, value)| (key.as_str(), toml_value(value)));
            TomlValue::InlineTable(members.collect())
        }
    }
}

fn table_members(table: &dyn TableLike) -> Map<String, Value> {
    let members = table.iter();
    members
        .map(|(key, item)| (key.to_owned(), item_value(item)))
        .collect()
}

fn item_value(item: &Item) -> Value {
    match item {
        Item::None => Value::Null,
        Item::Value(value) => json_value(value),
        Item::Table(table) => table_members(table).into(),
        Item::ArrayOfTables(tables) => tables
            .iter()
            .map(|it| Value::from(table_members(it)))
            .collect(),
    }
}

fn json_value(value: &TomlValue) -> Value {
    match value {
        TomlValue::String(text) => text.value().as_str().into(),
        TomlValue::Integer(number) => (*number.value()).into(),
        TomlValue::Float(number) => (*number.value()).into(),
        TomlValue::Boolean(value) => (*value.value()).into(),
        TomlValue::Datetime(time) => time.value().to_string().into(),
        TomlValue::Array(items) => items.iter().map(json_value).collect(),
        TomlValue::InlineTable(table) => table_members(table).into(),
    }
}
