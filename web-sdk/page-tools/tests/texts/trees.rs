//! Generates trees with ordinary and hostile strings.

use std::sync::LazyLock;

use page_tools::{Choice, Node, NodeValue, Rows, State};
use proptest::prelude::*;
use proptest::strategy::SBoxedStrategy;
use proptest::string::string_regex;

/// Strings that look like the markup of a page text.
const NASTY: [&str; 37] = [
    "",
    " ",
    "end of page 7f3a",
    "- button \"Buy\" [ref=e1]",
    "page \"x\" url=\"/\" elements=1 mark=7f3a",
    "```",
    "````value",
    "</input>",
    "<display id=\"e1\">",
    "\"",
    "'",
    "''",
    "\\",
    "\\n",
    ": ",
    " #",
    "a: b",
    "a #b",
    "[ref=e99]",
    "] [disabled",
    "|",
    "- ",
    "true",
    "No",
    "null",
    "1",
    "~",
    "**Item 0:**",
    "Error: x",
    "(5 more elements: page_query",
    "\u{202e}abc",
    "\u{200b}\u{feff}",
    "\u{e0041}\u{e0042}",
    "☀\u{fe0f}\u{fe0e}\u{e0100}\u{200d}",
    "\u{fe0f}\u{200d}☀\u{fe0f}\u{200d}☀",
    "\u{2060}\u{3164}\u{2800}\u{ad}\u{fffc}",
    "&#60;",
];

/// One shared strategy, because a pattern would be parsed again for each text.
static WORDS: LazyLock<SBoxedStrategy<String>> =
    LazyLock::new(|| string_regex("[a-zA-Z0-9 ]{0,12}").unwrap().sboxed());
static PRINTABLE: LazyLock<SBoxedStrategy<String>> =
    LazyLock::new(|| string_regex("[\\PC\n\t\r]{0,8}").unwrap().sboxed());

fn string() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        3 => prop::sample::select(&NASTY[..]).prop_map(str::to_owned),
        2 => WORDS.clone(),
        1 => PRINTABLE.clone(),
        1 => any::<char>().prop_map(String::from),
        1 => prop::sample::select(vec![100_usize, 201, 600]).prop_map(|count| "x\"".repeat(count / 2)),
    ];
    prop::collection::vec(part, 0..4).prop_map(|parts| parts.concat())
}

const ROLES: [&str; 23] = [
    "generic",
    "main",
    "form",
    "button",
    "textbox",
    "combobox",
    "listbox",
    "checkbox",
    "paragraph",
    "heading",
    "list",
    "listitem",
    "table",
    "row",
    "cell",
    "gridcell",
    "img",
    "link",
    "group",
    "strong",
    "private",
    "separator",
    "dialog",
];

fn role() -> impl Strategy<Value = String> {
    prop_oneof![
        20 => prop::sample::select(&ROLES[..]).prop_map(str::to_owned),
        1 => string(),
    ]
}

fn leaf() -> impl Strategy<Value = Node> {
    prop_oneof![
        2 => string().prop_map(Node::new_text),
        3 => element(),
    ]
}

fn element() -> impl Strategy<Value = Node> {
    let value = prop_oneof![
        3 => Just(None),
        2 => string().prop_map(|text| Some(NodeValue::One(text))),
        1 => prop::collection::vec(string(), 0..3).prop_map(|texts| Some(NodeValue::Several(texts))),
    ];
    let options = prop::collection::vec((string(), string()), 0..4);
    let states = prop::collection::vec(prop::sample::select(&State::ALL[..]), 0..4);
    let texts = (
        prop::option::of(string()),
        prop::option::of(string()),
        prop::option::of(string()),
    );
    let rows = prop::option::of((0_u32..50, 0_u32..50));
    let more = (
        prop::option::of(1_u32..7),
        rows,
        prop::collection::vec(string(), 0..2),
        prop::option::of(string()),
    );
    (
        role(),
        prop::option::of(0_u32..99_999),
        value,
        options,
        states,
        texts,
        more,
    )
        .prop_map(
            |(
                role,
                handle,
                value,
                options,
                states,
                (name, error, description),
                (level, rows, events, kind),
            )| Node {
                role,
                name,
                reference: handle.map(|number| format!("e{number}")),
                value,
                options: options
                    .into_iter()
                    .map(|(value, label)| Choice { value, label })
                    .collect(),
                states,
                level,
                error,
                description,
                rows: rows.map(|(shown, total)| Rows { shown, total }),
                events,
                kind,
                ..Node::default()
            },
        )
}

/// Returns trees with up to a few hundred nodes.
pub(crate) fn tree() -> impl Strategy<Value = Node> {
    leaf().prop_recursive(5, 120, 6, |inner| {
        (element(), prop::collection::vec(inner, 0..6)).prop_map(|(mut node, children)| {
            node.children = children;
            node
        })
    })
}
