//! Writes the page as markdown with elements, in the format of the Lowdefy design.

use crate::node::{Category, Node, NodeValue, PRIVATE_ROLE};
use crate::text::{char_code, decimal, has_char, join_text};

/// Prefixes of the lines that are not text of the page.
const RESERVED: [&str; 5] = [
    "Error:",
    "Description:",
    "Options:",
    "End of page",
    "**Item",
];

/// Writes nodes, up to a number of bytes. Returns how many elements were left out.
pub fn write(out: &mut String, nodes: &[Node], budget: usize) -> usize {
    let mut writer = Writer {
        out,
        left: budget,
        left_out: 0,
    };
    for node in nodes {
        writer.write_node(node);
    }
    writer.left_out
}

/// Escapes a text so that none of its characters has a meaning in markdown with elements.
#[must_use]
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '<' | '>' | '&' | '"' | '`' => {
                escaped.push_str(&join_text!["&#", char_code(character), ";"]);
            }
            other => escaped.push(other),
        }
    }
    escaped
}

struct Writer<'a> {
    out: &'a mut String,
    left: usize,
    left_out: usize,
}

impl Writer<'_> {
    fn write_node(&mut self, node: &Node) {
        if node.is_text() {
            let text = escape_lines(node.text.as_deref().unwrap_or_default());
            self.push_whole(&text, 0);
            return;
        }
        if node.role == PRIVATE_ROLE {
            self.push_whole("<private></private>\n", 1);
            return;
        }
        let category = category(node);
        let start = start(node, category);
        let end = join_text!["</", category.name(), ">\n"];
        if start.len() + end.len() > self.left {
            self.left_out += node.count_elements();
            // The rest is also left out: a text with gaps would mislead.
            self.left = 0;
            return;
        }
        self.left -= start.len() + end.len();
        self.out.push_str(&start);
        let lists_items = category == Category::List && node.kind.is_some();
        let mut items = 0;
        for child in &node.children {
            if lists_items && child.reference.is_none() {
                self.push_whole(&join_text!["**Item ", decimal(items), ":**\n"], 0);
                items += 1;
            }
            self.write_node(child);
        }
        self.out.push_str(&end);
    }

    fn push_whole(&mut self, text: &str, elements: usize) {
        if text.len() > self.left {
            self.left_out += elements;
            self.left = 0;
            return;
        }
        self.left -= text.len();
        self.out.push_str(text);
    }
}

/// Returns the markdown category of a node.
#[must_use]
pub fn category(node: &Node) -> Category {
    node.category
        .unwrap_or_else(|| Category::of_role(&node.role))
}

/// Returns the part of an element before its children.
fn start(node: &Node, category: Category) -> String {
    let mut start = join_text!["<", category.name()];
    let mut attribute = |name: &str, value: &str| {
        start.push_str(&join_text![" ", name, "=\"", escape(value), "\""]);
    };
    if let Some(reference) = &node.reference {
        attribute("id", reference);
    }
    match &node.kind {
        Some(kind) => {
            attribute("type", kind);
            attribute("role", &node.role);
        }
        None => attribute("type", &node.role),
    }
    let is_block = matches!(category, Category::Container | Category::List);
    if let Some(name) = node.name.as_ref().filter(|_| is_block) {
        attribute("name", name);
    }
    if let Some(level) = node.level {
        attribute("level", &decimal(level as usize));
    }
    if let Some(rows) = node.rows {
        attribute(
            "items",
            &join_text![
                decimal(rows.shown as usize),
                " of ",
                decimal(rows.total as usize)
            ],
        );
    }
    if let Some(NodeValue::Several(values)) = &node.value {
        attribute("values", &decimal(values.len()));
    }
    if node.kind.is_some() || !node.events.is_empty() {
        start.push_str(&join_text![" events=[", node.events.join(", "), "]"]);
    }
    for state in &node.states {
        start.push(' ');
        start.push_str(match state.key() {
            "checked=mixed" => "checked=\"mixed\"",
            key => key,
        });
    }
    start.push('>');
    let fields = fields(node);
    let name = node.name.as_deref().map(escape).unwrap_or_default();
    match category {
        Category::Container | Category::List => start.push('\n'),
        Category::Input => start.push_str(&join_text!["\n", name, "\n"]),
        Category::Display => {
            start.push_str(&name);
            if !fields.is_empty() || !node.children.is_empty() {
                start.push('\n');
            }
        }
    }
    start.push_str(&fields);
    start
}

fn fields(node: &Node) -> String {
    let mut fields = String::new();
    let values = match &node.value {
        None => &[],
        Some(NodeValue::One(value)) => std::slice::from_ref(value),
        Some(NodeValue::Several(values)) => values.as_slice(),
    };
    for value in values {
        let fence = fence(value);
        let info = match &node.reference {
            Some(reference) => join_text![reference, "_value"],
            None => "value".into(),
        };
        fields.push_str(&join_text![fence, info, "\n", value, "\n", fence, "\n"]);
    }
    if !node.options.is_empty() {
        let labels = node.options.iter().map(|choice| {
            escape(if choice.label.is_empty() {
                &choice.value
            } else {
                &choice.label
            })
        });
        let mut labels: Vec<_> = labels.take(crate::limits::MAX_OPTIONS).collect();
        if node.options.len() > crate::limits::MAX_OPTIONS {
            labels.push("…".into());
        }
        fields.push_str(&join_text!["Options: ", labels.join(" | "), "\n"]);
    }
    for (label, text) in [("Error", &node.error), ("Description", &node.description)] {
        if let Some(text) = text {
            fields.push_str(&join_text![label, ": ", escape(text), "\n"]);
        }
    }
    fields
}

/// Returns a fence that is longer than any run of backticks in a text.
fn fence(text: &str) -> String {
    let mut longest = 0;
    let mut run = 0;
    for character in text.chars() {
        run = if character == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    "`".repeat(longest.max(2) + 1)
}

/// Escapes the lines of a text so that none of them looks like markup.
fn escape_lines(text: &str) -> String {
    let mut escaped = String::new();
    for line in text.split('\n') {
        let line = escape(line);
        let mut rest = line.chars();
        let first = rest.next();
        let is_special = first.is_some_and(|it| has_char("#(*", it))
            || RESERVED.iter().any(|reserved| line.starts_with(reserved));
        match first.filter(|_| is_special) {
            Some(first) => {
                escaped.push_str(&join_text!["&#", char_code(first), ";"]);
                escaped.push_str(rest.as_str());
            }
            None => escaped.push_str(&line),
        }
        escaped.push('\n');
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(node: &Node) -> String {
        let mut text = String::new();
        assert_eq!(write(&mut text, std::slice::from_ref(node), 10_000), 0);
        text
    }

    #[test]
    fn an_input_has_a_label_and_a_fenced_value() {
        let node = Node {
            name: Some("Customer <b>".into()),
            reference: Some("customer".into()),
            kind: Some("TextInput".into()),
            events: vec!["onChange".into()],
            states: vec![crate::node::State::Required],
            value: Some(NodeValue::One("```\nAcme".into())),
            error: Some("This field is required".into()),
            ..Node::new("textbox")
        };
        assert_eq!(
            text_of(&node),
            "<input id=\"customer\" type=\"TextInput\" role=\"textbox\" events=[onChange] required>\nCustomer &#60;b&#62;\n````customer_value\n```\nAcme\n````\nError: This field is required\n</input>\n"
        );
    }

    #[test]
    fn a_display_is_one_line() {
        let button = Node {
            name: Some("Save".into()),
            reference: Some("e7".into()),
            ..Node::new("button")
        };
        assert_eq!(
            text_of(&button),
            "<display id=\"e7\" type=\"button\">Save</display>\n"
        );
    }

    #[test]
    fn a_text_is_not_mistaken_for_markup() {
        let mut main = Node::new("main");
        main.children = vec![Node::new_text("# a\nError: b\n</container>\n(c\n``` d")];
        assert_eq!(
            text_of(&main),
            "<container type=\"main\">\n&#35; a\n&#69;rror: b\n&#60;/container&#62;\n&#40;c\n&#96;&#96;&#96; d\n</container>\n"
        );
    }

    #[test]
    fn the_items_of_a_list_are_numbered() {
        let mut list = Node::new("list");
        list.kind = Some("ControlledList".into());
        list.reference = Some("lines".into());
        list.children = vec![Node::new("group"), Node::new("group")];
        assert_eq!(
            text_of(&list),
            "<list id=\"lines\" type=\"ControlledList\" role=\"list\" events=[]>\n**Item 0:**\n<container type=\"group\">\n</container>\n**Item 1:**\n<container type=\"group\">\n</container>\n</list>\n"
        );
    }
}
