//! Properties that hold for every page.

use bridge_protocol::invisible::is_invisible;
use page_tools::clean::clean;
use page_tools::page_text::{Format, Page, PageInfo, PageText, write_changes, write_page};
use page_tools::text::contains;
use page_tools::{Limits, Node, NodeValue, State};
use proptest::prelude::*;
use proptest::string::string_regex;
use saphyr::{LoadableYamlNode, Yaml};

use crate::markdown_parser::{self, Child, Element};
use crate::outline_parser::{self, Content, Parsed};
use crate::trees::tree;

const MARK: &str = "7f3a10";

pub(crate) fn page_of(root: &Node) -> Page {
    Page {
        info: PageInfo {
            page_id: "/orders".into(),
            url: None,
            title: "Orders".into(),
        },
        nodes: clean(root, &Limits::default()),
        uncounted: 0,
    }
}

fn unlimited() -> Limits {
    Limits {
        max_page_bytes: 100_000_000,
        ..Limits::default()
    }
}

pub(crate) fn outline_of(page: &Page) -> String {
    write_page(page, Format::Outline, MARK, &unlimited()).text
}

/// Returns the nodes in the form that they have in the outline.
fn canonical(nodes: &[Node]) -> Vec<Parsed> {
    nodes.iter().map(canonical_node).collect()
}

fn canonical_node(node: &Node) -> Parsed {
    if node.role == "text" {
        return Parsed {
            role: "text".into(),
            content: Content::Scalar(node.text.clone().unwrap()),
            ..Parsed::default()
        };
    }
    let mut keys: Vec<(String, String)> = Vec::new();
    let mut push = |key: &str, value: String| keys.push((key.to_owned(), value));
    if let Some(reference) = &node.reference {
        push("ref", reference.clone());
    }
    if let Some(level) = node.level {
        push("level", level.to_string());
    }
    for state in &node.states {
        match state {
            State::Mixed => push("checked", "mixed".into()),
            state => push(state.name(), String::new()),
        }
    }
    for (key, text) in [("error", &node.error), ("description", &node.description)] {
        if let Some(text) = text {
            push(key, text.clone());
        }
    }
    if !node.options.is_empty() {
        let labels = node.options.iter().map(|choice| {
            if choice.label.is_empty() {
                &choice.value
            } else {
                &choice.label
            }
        });
        let labels: Vec<_> = labels.map(String::as_str).collect();
        push("options", labels.join("|"));
    }
    if let Some(rows) = node.rows {
        let value = if rows.shown == rows.total {
            rows.total.to_string()
        } else {
            format!("{} of {}", rows.shown, rows.total)
        };
        push("rows", value);
    }
    if !node.events.is_empty() {
        push("events", node.events.join(","));
    }
    if let Some(kind) = &node.kind {
        push("type", kind.clone());
    }
    let content = match (&node.value, node.children.as_slice()) {
        (None, []) => Content::Nothing,
        (Some(NodeValue::One(text)), []) => Content::Scalar(text.clone()),
        (Some(NodeValue::Several(texts)), []) => Content::List(texts.clone()),
        (None, [only]) if only.role == "text" => Content::Scalar(only.text.clone().unwrap()),
        (value, children) => {
            if let Some(value) = value {
                let text = match value {
                    NodeValue::One(text) => text.clone(),
                    NodeValue::Several(texts) => texts.join(", "),
                };
                keys.push(("value".into(), page_tools::text::one_line(&text, 200)));
            }
            Content::Children(canonical(children))
        }
    };
    Parsed {
        role: node.role.clone(),
        name: node.name.clone(),
        keys,
        content,
    }
}

/// Fails if the parsed nodes differ from the written ones. The keys of a node that are too long for
/// YAML are cut, so only its role and content are compared.
fn assert_same(parsed: &[Parsed], expected: &[Parsed]) {
    assert_eq!(parsed.len(), expected.len(), "{parsed:#?}\n{expected:#?}");
    for (parsed, expected) in parsed.iter().zip(expected) {
        assert_eq!(parsed.role, expected.role);
        let texts = expected
            .keys
            .iter()
            .map(|(_, value)| value.len())
            .sum::<usize>();
        if texts + expected.name.as_ref().map_or(0, String::len) < 400 {
            assert_eq!(parsed.name, expected.name);
            assert_eq!(parsed.keys, expected.keys);
        }
        match (&parsed.content, &expected.content) {
            (Content::Children(parsed), Content::Children(expected)) => {
                assert_same(parsed, expected)
            }
            (parsed, expected) => assert_eq!(parsed, expected),
        }
    }
}

fn assert_yaml(text: &str) {
    let body: Vec<_> = text.lines().collect();
    let body = body[1..body.len() - 1].join("\n");
    let documents = Yaml::load_from_str(&body).unwrap_or_else(|error| panic!("{error}:\n{body}"));
    let (_, nodes, ..) = outline_parser::parse(text);
    match documents.first() {
        None => assert!(nodes.is_empty()),
        Some(document) => assert_yaml_items(document, &nodes, text),
    }
}

fn assert_yaml_items(yaml: &Yaml<'_>, nodes: &[Parsed], text: &str) {
    let items = yaml
        .as_sequence()
        .unwrap_or_else(|| panic!("{yaml:?} is not a list:\n{text}"));
    assert_eq!(items.len(), nodes.len(), "{text}");
    for (item, node) in items.iter().zip(nodes) {
        if node.content == Content::Nothing {
            assert!(item.as_str().is_some(), "{item:?} is not text:\n{text}");
            continue;
        }
        let mapping = item
            .as_mapping()
            .unwrap_or_else(|| panic!("{item:?} is not a mapping:\n{text}"));
        let (_, value) = mapping.iter().next().unwrap();
        match &node.content {
            Content::Children(children) => assert_yaml_items(value, children, text),
            Content::Scalar(scalar) => {
                let value = value
                    .as_str()
                    .unwrap_or_else(|| panic!("{value:?} is not text:\n{text}"));
                assert_eq!(
                    value.strip_suffix('\n').unwrap_or(value),
                    scalar.strip_suffix('\n').unwrap_or(scalar)
                );
            }
            Content::List(items) => assert_eq!(value.as_sequence().unwrap().len(), items.len()),
            Content::Nothing => unreachable!("handled above"),
        }
    }
}

fn assert_no_forbidden(text: &str) {
    let characters: Vec<char> = text.chars().collect();
    for pair in characters.windows(2) {
        let are_invisible = pair.iter().all(|it| is_invisible(*it));
        assert!(
            !are_invisible || *pair == ['\u{fe0f}', '\u{200d}'],
            "{text:?}"
        );
    }
    // These occur in emoji and in some scripts.
    let may_stay = |it| matches!(it, '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}');
    let forbidden = |it| is_invisible(it) && !may_stay(it);
    assert!(!text.contains(forbidden), "{text:?}");
}

/// Joins adjacent texts, each on a separate line.
fn with_joined_texts(nodes: &[Node]) -> Vec<Node> {
    let mut joined: Vec<Node> = Vec::new();
    for node in nodes {
        match (
            joined.last_mut().and_then(|it| it.text.as_mut()),
            &node.text,
        ) {
            (Some(before), Some(text)) => {
                before.push('\n');
                before.push_str(text);
            }
            _ => joined.push(node.clone()),
        }
    }
    joined
}

fn assert_same_markdown(children: &[Child], nodes: &[Node]) {
    assert_same_children(children, &with_joined_texts(nodes));
}

fn assert_same_children(children: &[Child], nodes: &[Node]) {
    assert_eq!(children.len(), nodes.len(), "{children:#?}\n{nodes:#?}");
    for (child, node) in children.iter().zip(nodes) {
        match child {
            Child::Text(text) => assert_eq!(Some(text), node.text.as_ref()),
            Child::Element(element) => assert_same_element(element, node),
        }
    }
}

fn assert_same_element(element: &Element, node: &Node) {
    if node.role == "private" {
        assert_eq!(element.tag, "private");
        return;
    }
    let attribute = |name: &str| {
        let found = element
            .attributes
            .iter()
            .find(|(attribute, _)| attribute == name);
        found.map(|(_, value)| value.clone())
    };
    assert_eq!(attribute("id"), node.reference);
    let role = if node.kind.is_some() { "role" } else { "type" };
    assert_eq!(attribute(role).as_ref(), Some(&node.role));
    let is_block = matches!(element.tag.as_str(), "container" | "list");
    let name = if is_block {
        attribute("name")
    } else {
        Some(element.label.clone()).filter(|label| !label.is_empty())
    };
    assert_eq!(name, node.name, "{element:#?}");
    for state in &node.states {
        let name = if *state == State::Mixed {
            "checked"
        } else {
            state.name()
        };
        assert!(attribute(name).is_some(), "{name}: {element:#?}");
    }
    let values = match &node.value {
        None => Vec::new(),
        Some(NodeValue::One(value)) => vec![value.clone()],
        Some(NodeValue::Several(values)) => values.clone(),
    };
    assert_eq!(element.values, values);
    let field = |name: &str| {
        let found = element.fields.iter().find(|(field, _)| field == name);
        found.map(|(_, value)| value.clone())
    };
    assert_eq!(field("Error"), node.error);
    assert_eq!(field("Description"), node.description);
    if element.tag == "list" && node.kind.is_some() {
        // Each item begins with a separate line, so adjacent texts stay separate.
        assert_same_children(&element.children, &node.children);
    } else {
        assert_same_markdown(&element.children, &node.children);
    }
}

fn assert_honest(text: &PageText, page: &Page, limit: usize) {
    assert!(
        text.text.len() <= limit.max(400),
        "{} of {limit} bytes",
        text.text.len()
    );
    let all: usize = page.nodes.iter().map(Node::count_elements).sum();
    assert_eq!(text.elements, all + page.uncounted);
    let more = text.elements - text.shown;
    assert_eq!(
        more > 0,
        text.text.contains(&format!("\n({more} more element"))
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, max_shrink_iters: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn an_outline_is_parsed_back(root in tree()) {
        let page = page_of(&root);
        let text = outline_of(&page);
        let (header, nodes, more, footer) = outline_parser::parse(&text);
        prop_assert!(header.starts_with("page \"Orders\" url=\"/orders\" elements="));
        prop_assert_eq!(more, None);
        prop_assert_eq!(footer, format!("end of page {MARK}"));
        assert_same(&nodes, &canonical(&page.nodes));
        assert_no_forbidden(&text);
        assert_yaml(&text);
    }

    #[test]
    fn contains_agrees_with_the_standard_library(text in string_regex("[abä]{0,24}").unwrap(), part in string_regex("[abä]{0,6}").unwrap()) {
        prop_assert_eq!(contains(&text, &part), text.contains(&part));
    }

    #[test]
    fn markdown_is_parsed_back(root in tree()) {
        let page = page_of(&root);
        let text = write_page(&page, Format::Markdown, MARK, &unlimited()).text;
        assert_same_markdown(&markdown_parser::parse(&text), &page.nodes);
        assert_no_forbidden(&text);
    }

    #[test]
    fn a_text_is_never_over_the_limit(root in tree(), limit in 300_usize..5_000, uncounted in 0_usize..3) {
        let mut page = page_of(&root);
        page.uncounted = uncounted;
        let limits = Limits { max_page_bytes: limit, ..Limits::default() };
        for format in [Format::Outline, Format::Markdown] {
            assert_honest(&write_page(&page, format, MARK, &limits), &page, limit);
        }
    }

    #[test]
    fn changes_are_written_exactly_when_the_pages_differ(before in tree(), after in tree()) {
        let [before, after] = [&before, &after].map(page_of);
        let same = write_changes(&before, &before, MARK, &unlimited()).unwrap();
        prop_assert!(same.text.contains("(nothing changed"));
        if let Some(changes) = write_changes(&before, &after, MARK, &unlimited()) {
            assert_no_forbidden(&changes.text);
            let differs = outline_of(&before).lines().skip(1).ne(outline_of(&after).lines().skip(1));
            prop_assert_eq!(differs, !changes.text.contains("(nothing changed"));
        }
    }
}
