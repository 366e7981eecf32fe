//! Setting and removing one member of an object in a text.

use jsonc_parser::ast::{Object, ObjectProp, Value as AstValue};
use jsonc_parser::common::Ranged;
use serde_json::{Map, Value};

use super::layout::{Layout, line_indent, line_start};
use super::source::Source;
use super::splice::Splice;
use crate::excerpt::excerpt;
use crate::text_lines::error_at;

/// Returns the text with a member at the end of a path of keys. An existing value is replaced where it
/// is. A new member follows the others of its object, and objects that are missing are created.
///
/// # Examples
///
/// ```
/// use bridge_shared_files::jsonc::with_member;
///
/// let text = "{\n  // mine\n  \"a\": {}\n}\n";
/// let changed = with_member(text, &["a", "b"], &1.into()).unwrap();
/// assert_eq!(changed, "{\n  // mine\n  \"a\": {\n    \"b\": 1\n  }\n}\n");
/// ```
///
/// # Errors
///
/// The text is not JSON, or a value on the path is not an object.
pub fn with_member(text: &str, path: &[&str], value: &Value) -> Result<String, String> {
    let source = Source::parse(text)?;
    let Some(root) = &source.root else {
        return Ok(with_root(text, &nested(path, value)));
    };
    let mut object = as_object(text, root, "the outermost value")?;
    for (depth, key) in path.iter().enumerate() {
        let rest = &path[depth + 1..];
        let Some(property) = find(object, key) else {
            return Ok(insert(&source, object, key, &nested(rest, value)));
        };
        if rest.is_empty() {
            return Ok(replace(&source, property, value));
        }
        object = as_object(text, &property.value, &format!("`{}`", excerpt(key)))?;
    }
    Err("the path has no keys".to_owned())
}

/// Returns the text without the member at the end of a path of keys. Comments within its value are
/// also removed, other comments stay. A member that does not exist is not an error.
///
/// # Errors
///
/// The text is not JSON.
pub fn without_member(text: &str, path: &[&str]) -> Result<String, String> {
    let source = Source::parse(text)?;
    let Some((last, parents)) = path.split_last() else {
        return Ok(text.to_owned());
    };
    let mut object = source.root.as_ref().and_then(AstValue::as_object);
    for key in parents {
        let property = object.and_then(|object| find(object, key));
        object = property.and_then(|property| property.value.as_object());
    }
    let found = object.and_then(|object| Some((object, find(object, last)?)));
    Ok(match found {
        Some((object, property)) => remove(&source, object, property),
        None => text.to_owned(),
    })
}

fn replace(source: &Source<'_>, property: &ObjectProp<'_>, value: &Value) -> String {
    let range = property.value.range();
    let rendered = if line_start(source.text, property.start()).is_some() {
        let outer = line_indent(source.text, property.start());
        source.layout().render(value, outer)
    } else {
        value.to_string()
    };
    let mut splice = Splice::default();
    splice.replace(range.start..range.end, rendered);
    splice.apply(source.text)
}

fn insert(source: &Source<'_>, object: &Object<'_>, key: &str, value: &Value) -> String {
    let mut splice = Splice::default();
    match object.properties.last() {
        None => insert_first(source, &mut splice, object, key, value),
        Some(last) => insert_after(source, &mut splice, last, key, value),
    }
    splice.apply(source.text)
}

fn insert_first(
    source: &Source<'_>,
    splice: &mut Splice,
    object: &Object<'_>,
    key: &str,
    value: &Value,
) {
    let (start, end) = (object.start() + 1, object.end() - 1);
    // A file on one line stays on one line, unless this is its first member.
    if !source.text.trim().contains('\n') && !source.is_root(object) {
        return splice.insert(start, format!("{}:{value}", Value::from(key)));
    }
    let layout = source.layout();
    let line_break = layout.line_break;
    let outer = line_indent(source.text, object.start());
    let inner = format!("{outer}{}", layout.indent);
    let member = layout.render_member(key, value, &inner);
    let closing = if source.text[start..end].contains('\n') {
        String::new()
    } else {
        format!("{line_break}{outer}")
    };
    splice.insert(start, format!("{line_break}{inner}{member}{closing}"));
}

fn insert_after(
    source: &Source<'_>,
    splice: &mut Splice,
    last: &ObjectProp<'_>,
    key: &str,
    value: &Value,
) {
    let comma = source.comma_after(last.end());
    let end = comma.unwrap_or(last.end());
    if line_start(source.text, last.start()).is_none() {
        let member = format!(" {}: {value}", Value::from(key));
        let inserted = match comma {
            Some(_) => format!("{member},"),
            None => format!(",{member}"),
        };
        return splice.insert(end, inserted);
    }
    let layout = source.layout();
    let indent = line_indent(source.text, last.start());
    let member = layout.render_member(key, value, indent);
    let line = format!("{}{indent}{member}", layout.line_break);
    // A comment on the line of the last member belongs to that one.
    let line_end = source.comments_end(end);
    if comma.is_some() {
        splice.insert(line_end, format!("{line},"));
    } else {
        splice.insert(end, ",");
        splice.insert(line_end, line);
    }
}

fn remove(source: &Source<'_>, object: &Object<'_>, property: &ObjectProp<'_>) -> String {
    let mut splice = Splice::default();
    let (start, end) = (property.start(), property.end());
    if object.properties.len() == 1 {
        remove_only(source, &mut splice, object, property);
    } else if let Some(comma_end) = source.comma_after(end) {
        let between = &source.text[end..comma_end - 1];
        if between.trim().is_empty() {
            splice.cut(source.with_space(start, comma_end));
        } else {
            splice.cut(start..end);
            splice.cut(comma_end - 1..comma_end);
        }
    } else {
        match source.comma_before(start) {
            // Both are on one line, where an inserted member follows its comma.
            Some(comma)
                if source.text[comma..start]
                    .trim_matches([' ', '\t'])
                    .is_empty() =>
            {
                splice.cut(comma - 1..end);
            }
            comma => {
                comma.into_iter().for_each(|end| splice.cut(end - 1..end));
                splice.cut(source.with_space(start, end));
            }
        }
    }
    splice.apply(source.text)
}

/// Removes the only member of an object. The object has nothing between its braces afterwards,
/// unless it has comments.
fn remove_only(
    source: &Source<'_>,
    splice: &mut Splice,
    object: &Object<'_>,
    property: &ObjectProp<'_>,
) {
    let end = source.comma_after(property.end()).unwrap_or(property.end());
    let before = &source.text[object.start() + 1..property.start()];
    let after = &source.text[end..object.end() - 1];
    let between = &source.text[property.end()..end];
    let has_comments = [before, after, between.trim_end_matches(',')]
        .iter()
        .any(|text| !text.trim().is_empty());
    if !has_comments {
        splice.cut(object.start() + 1..object.end() - 1);
    } else if between.trim_end_matches(',').trim().is_empty() {
        splice.cut(source.with_space(property.start(), end));
    } else {
        splice.cut(property.start()..property.end());
        splice.cut(end - 1..end);
    }
}

fn find<'a, 'b>(object: &'b Object<'a>, key: &str) -> Option<&'b ObjectProp<'a>> {
    let mut properties = object.properties.iter();
    properties.find(|property| property.name.as_str() == key)
}

fn as_object<'a, 'b>(
    text: &str,
    value: &'b AstValue<'a>,
    name: &str,
) -> Result<&'b Object<'a>, String> {
    value
        .as_object()
        .ok_or_else(|| error_at(text, value.start(), &format!("{name} is not an object")))
}

/// Returns a value below a path of keys.
fn nested(path: &[&str], value: &Value) -> Value {
    path.iter().rev().fold(value.clone(), |value, key| {
        Value::Object(Map::from_iter([((*key).to_owned(), value)]))
    })
}

/// Returns a text that has only comments and white space, with a value after them.
fn with_root(text: &str, value: &Value) -> String {
    let layout = Layout::of(text, None);
    let line_break = layout.line_break;
    let separator = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        line_break
    };
    format!("{text}{separator}{}{line_break}", layout.render(value, ""))
}
