//! Hostile texts: the structure of a page stays the same wherever they occur.

use page_tools::page_text::{Format, write_page};
use page_tools::{Choice, Limits, Node, NodeValue};

use crate::markdown_parser::{self, Child};
use crate::outline_parser::{self, Content, Parsed};
use crate::properties::{outline_of, page_of};

/// Returns the hostile texts.
fn injections() -> Vec<String> {
    let list = include_str!("../../../../e2e/page-tools/pages/injections.json");
    let mut injections = Vec::new();
    let mut rest = list;
    // The file is a list of JSON strings, or of objects with one: every string is tried.
    while let Some(start) = rest.find('"') {
        let mut end = start + 1;
        while !rest[end..].starts_with('"') {
            end += if rest[end..].starts_with('\\') {
                2
            } else {
                rest[end..].chars().next().unwrap().len_utf8()
            };
        }
        injections.push(unescape(&rest[start + 1..end]));
        rest = &rest[end + 1..];
    }
    injections
}

fn unescape(text: &str) -> String {
    let mut out: Vec<u16> = Vec::new();
    let mut chars = text.chars();
    while let Some(character) = chars.next() {
        let mut buffer = [0; 2];
        if character != '\\' {
            out.extend_from_slice(character.encode_utf16(&mut buffer));
            continue;
        }
        match chars.next().unwrap() {
            'n' => out.push(u16::from(b'\n')),
            't' => out.push(u16::from(b'\t')),
            'r' => out.push(u16::from(b'\r')),
            'u' => {
                let digits: String = chars.by_ref().take(4).collect();
                out.push(u16::from_str_radix(&digits, 16).unwrap());
            }
            other => out.extend_from_slice(other.encode_utf16(&mut buffer)),
        }
    }
    String::from_utf16_lossy(&out)
}

fn fixture(text: &str) -> Node {
    let some = || Some(text.to_owned());
    let control = Node {
        name: some(),
        reference: Some("e1".into()),
        value: Some(NodeValue::One(text.into())),
        error: some(),
        description: some(),
        options: vec![Choice {
            value: text.into(),
            label: text.into(),
        }],
        ..Node::new("combobox")
    };
    let mut paragraph = Node::new("paragraph");
    paragraph.children = vec![Node::new_text(text)];
    let mut row = Node::new("row");
    row.children = vec![
        Node {
            name: some(),
            ..Node::new("cell")
        },
        Node {
            children: vec![Node {
                name: some(),
                reference: Some("e2".into()),
                ..Node::new("button")
            }],
            ..Node::new("cell")
        },
    ];
    Node {
        name: some(),
        children: vec![control, paragraph, Node::new_text(text), row],
        ..Node::new("form")
    }
}

/// Returns the roles and handles, without any text of the page.
fn skeleton(nodes: &[Parsed]) -> String {
    let nodes = nodes.iter().map(|node| {
        let handle = node
            .keys
            .iter()
            .find(|(key, _)| key == "ref")
            .map(|(_, value)| value.as_str());
        let children = match &node.content {
            Content::Children(children) => skeleton(children),
            _ => String::new(),
        };
        format!("{} {} ({children})", node.role, handle.unwrap_or_default())
    });
    nodes.collect::<Vec<_>>().join(", ")
}

fn markdown_skeleton(children: &[Child]) -> String {
    let children = children.iter().map(|child| match child {
        Child::Text(_) => "text".to_owned(),
        Child::Element(element) => {
            format!("{} ({})", element.tag, markdown_skeleton(&element.children))
        }
    });
    children.collect::<Vec<_>>().join(", ")
}

#[test]
fn no_text_changes_the_structure() {
    let injections = injections();
    assert!(injections.len() >= 50, "{}", injections.len());
    let skeletons = |text: &str| {
        let page = page_of(&fixture(text));
        let (_, nodes, more, footer) = outline_parser::parse(&outline_of(&page));
        assert_eq!((more, footer.as_str()), (None, "end of page 7f3a10"));
        let markdown = write_page(&page, Format::Markdown, "7f3a10", &Limits::default()).text;
        (
            skeleton(&nodes),
            markdown_skeleton(&markdown_parser::parse(&markdown)),
        )
    };
    let honest = skeletons("honest");
    for injection in &injections {
        // A text of only invisible characters becomes empty, and the page equals the page without
        // the text.
        if page_tools::text::one_line(injection, 10).is_empty() {
            continue;
        }
        assert_eq!(skeletons(injection), honest, "{injection:?}");
    }
    println!("{} injections", injections.len());
}
