//! Writes one node as one line of the outline.

use crate::encode::quote;
use crate::limits::{MAX_KEY_CHARS, MAX_OPTIONS};
use crate::node::{Node, NodeValue, PRIVATE_ROLE};
use crate::text::{char_count, contains, decimal, has_char, is_word_char, join_text};

/// The content after the key of a line.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Content {
    /// Nothing.
    Nothing,
    /// A scalar, on the same line.
    Inline(String),
    /// A text, on separate lines.
    Block(Vec<String>),
    /// The children, on separate lines.
    Children,
}

/// Returns the line of a node, without its indentation and its content: `button "Save" [ref=e7]`.
pub(crate) fn key(node: &Node) -> String {
    if node.role == PRIVATE_ROLE {
        return PRIVATE_ROLE.into();
    }
    let mut cut = node.clone();
    let mut key = write_key(&cut);
    // YAML rejects longer keys. The least important parts are removed first.
    if is_too_long(&key) {
        cut.options.clear();
        key = write_key(&cut);
    }
    if is_too_long(&key) {
        cut.description = None;
        key = write_key(&cut);
    }
    while is_too_long(&key) {
        for text in [&mut cut.name, &mut cut.error].into_iter().flatten() {
            let half = char_count(text) / 2;
            *text = text.chars().take(half).chain(['…']).collect();
        }
        cut.events.truncate(cut.events.len() / 2);
        key = write_key(&cut);
    }
    key
}

fn is_too_long(key: &str) -> bool {
    char_count(key) > MAX_KEY_CHARS
}

fn write_key(node: &Node) -> String {
    let mut line = node.role.clone();
    if let Some(name) = &node.name {
        line.push(' ');
        line.push_str(&quote(name));
    }
    let mut push = |text: &str| {
        line.push_str(" [");
        line.push_str(text);
        line.push(']');
    };
    if let Some(reference) = &node.reference {
        push(&join_text!["ref=", reference]);
    }
    if let Some(level) = node.level {
        push(&join_text!["level=", decimal(level as usize)]);
    }
    for state in &node.states {
        push(state.key());
    }
    if let Some(error) = &node.error {
        push(&join_text!["error=", quote(error)]);
    }
    if let Some(description) = &node.description {
        push(&join_text!["description=", quote(description)]);
    }
    if !node.options.is_empty() {
        push(&join_text!["options=", quote(&option_labels(node))]);
    }
    if let Some(rows) = node.rows {
        push(&if rows.shown == rows.total {
            join_text!["rows=", decimal(rows.total as usize)]
        } else {
            join_text![
                "rows=",
                decimal(rows.shown as usize),
                " of ",
                decimal(rows.total as usize)
            ]
        });
    }
    if !node.events.is_empty() {
        push(&join_text!["events=", node.events.join(",")]);
    }
    if let Some(kind) = &node.kind {
        push(&join_text!["type=", kind]);
    }
    if let (Some(value), false) = (&node.value, node.children.is_empty()) {
        push(&join_text!["value=", quote(&joined_value(value))]);
    }
    // YAML would parse a mapping, a comment, or a role such as `true` as something other than a
    // text.
    if contains(&line, ": ") || contains(&line, " #") || (line == node.role && !is_plain(&line)) {
        line = join_text!["'", line.replace('\'', "''"), "'"];
    }
    line
}

/// Returns the labels of the first options, as one text.
fn option_labels(node: &Node) -> String {
    let labels = node.options.iter().map(|choice| {
        let label = if choice.label.is_empty() {
            &choice.value
        } else {
            &choice.label
        };
        label.as_str()
    });
    let mut labels: Vec<_> = labels.take(MAX_OPTIONS).collect();
    if node.options.len() > MAX_OPTIONS {
        labels.push("…");
    }
    labels.join("|")
}

/// Returns a value as one line of text, shortened like a name.
pub(crate) fn joined_value(value: &NodeValue) -> String {
    let text = match value {
        NodeValue::One(text) => text.clone(),
        NodeValue::Several(texts) => texts.join(", "),
    };
    crate::text::one_line(&text, crate::limits::MAX_NAME_CHARS)
}

/// Returns what is written after the key.
pub(crate) fn content(node: &Node) -> Content {
    match (&node.value, node.children.as_slice()) {
        (_, []) if node.role == PRIVATE_ROLE => Content::Nothing,
        (None, []) => Content::Nothing,
        (Some(NodeValue::One(text)), []) => scalar(text, true),
        (Some(NodeValue::Several(texts)), []) => {
            let texts: Vec<_> = texts.iter().map(|text| quote(text)).collect();
            Content::Inline(join_text!["[", texts.join(", "), "]"])
        }
        (None, [only]) if only.is_text() => scalar(only.text.as_deref().unwrap_or_default(), false),
        (_, [..]) => Content::Children,
    }
}

/// Returns a text as a scalar. The value of a field is always quoted, other text only where YAML
/// requires it.
pub(crate) fn scalar(text: &str, is_value: bool) -> Content {
    if is_block(text) {
        return Content::Block(text.lines().map(str::to_owned).collect());
    }
    if !is_value && is_plain(text) {
        return Content::Inline(text.to_owned());
    }
    Content::Inline(quote(text))
}

/// Returns whether YAML preserves these lines in a block: a block takes its indentation from the
/// first line and drops trailing blanks.
fn is_block(text: &str) -> bool {
    let is_blank_or_ragged = |line: &str| {
        line.trim().is_empty() || line.starts_with([' ', '\t']) || has_char(line, '\t')
    };
    has_char(text, '\n')
        && !text.ends_with('\n')
        && !has_char(text, '\r')
        && text
            .lines()
            .next()
            .is_some_and(|line| !is_blank_or_ragged(line))
        && text
            .lines()
            .last()
            .is_some_and(|line| !line.trim().is_empty())
        && text
            .lines()
            .all(|line| line.is_empty() || !line.trim().is_empty())
}

/// Returns whether YAML parses the text as a string without quotes.
fn is_plain(text: &str) -> bool {
    const SPECIAL: &str = ":#\"'[]{}&*!|>%@`\n\t";
    const WORDS: [&str; 10] = [
        "true", "false", "yes", "no", "null", "on", "off", "y", "n", "nan",
    ];
    text.starts_with(|it: char| is_word_char(it) && !it.is_ascii_digit())
        && !text.chars().any(|it| has_char(SPECIAL, it))
        && text.trim() == text
        && !WORDS.contains(&text.to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::{Choice, Rows, State};

    #[test]
    fn the_fields_of_a_node_have_an_order() {
        let node = Node {
            name: Some("Country".into()),
            reference: Some("e3".into()),
            states: vec![State::Required, State::Mixed],
            level: Some(2),
            error: Some("Choose one".into()),
            description: Some("Where to".into()),
            options: vec![
                Choice {
                    value: "de".into(),
                    label: "Germany".into(),
                },
                Choice {
                    value: "fr".into(),
                    label: String::new(),
                },
            ],
            rows: Some(Rows {
                shown: 2,
                total: 40,
            }),
            events: vec!["onClick".into()],
            kind: Some("Selector".into()),
            ..Node::new("combobox")
        };
        assert_eq!(
            key(&node),
            "combobox \"Country\" [ref=e3] [level=2] [required] [checked=mixed] [error=\"Choose one\"] [description=\"Where to\"] [options=\"Germany|fr\"] [rows=2 of 40] [events=onClick] [type=Selector]"
        );
    }

    #[test]
    fn texts_that_yaml_would_parse_differently_are_quoted() {
        let node = Node {
            name: Some("list: o'clock".into()),
            reference: Some("e9".into()),
            ..Node::new("button")
        };
        assert_eq!(key(&node), "'button \"list: o''clock\" [ref=e9]'");
        assert_eq!(key(&Node::new("true")), "'true'");
        assert_eq!(key(&Node::new("1e3")), "'1e3'");
        assert_eq!(key(&Node::new("list")), "list");
    }

    #[test]
    fn options_are_cut_before_the_description() {
        let choice = Choice {
            value: "v".into(),
            label: "l".repeat(100),
        };
        let mut node = Node {
            options: vec![choice.clone(); 21],
            description: Some("d".repeat(200)),
            ..Node::new("listbox")
        };
        assert_eq!(
            key(&node),
            format!("listbox [description=\"{}\"]", "d".repeat(200))
        );
        node.options = vec![
            Choice {
                value: "a".into(),
                label: "b".into()
            };
            21
        ];
        assert!(key(&node).contains("b|b|…\""));
        node.name = Some("\"".repeat(200));
        node.error = Some("\\".repeat(200));
        node.description = Some("\\".repeat(200));
        let key = key(&node);
        assert!(
            key.chars().count() <= MAX_KEY_CHARS && !key.contains("description"),
            "{key}"
        );
    }

    #[test]
    fn texts_are_unquoted_where_yaml_allows_it() {
        for plain in ["Prices without tax", "a, b - c?", "Größe"] {
            assert_eq!(scalar(plain, false), Content::Inline(plain.into()));
        }
        for quoted in ["", "1", "a: b", "true", "No", "- a", " a", "é #", "a'b"] {
            assert_eq!(scalar(quoted, false), Content::Inline(quote(quoted)));
        }
        assert_eq!(
            scalar("a\nb", false),
            Content::Block(vec!["a".into(), "b".into()])
        );
        for ragged in [" a\nb", "a\n", "a\n \nb", "\na"] {
            assert_eq!(scalar(ragged, true), Content::Inline(quote(ragged)));
        }
    }
}
