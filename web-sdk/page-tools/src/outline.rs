//! The outline: a tree as lines of YAML, close to Playwright's snapshots, which models know.

use crate::limits::MAX_NAME_CHARS;
use crate::line::{self, Content};
use crate::node::Node;
use crate::text::{join_text, one_line};

/// One node of an outline, with its location.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// The depth of the node.
    pub depth: usize,
    /// The line, without indentation. The lines of a block follow it, indented.
    pub text: String,
    /// The index of the line of the parent.
    pub parent: Option<usize>,
    /// Whether the line is an element rather than a text.
    pub is_element: bool,
    /// The constant part of the element, for paths: `form "Order"`.
    label: String,
}

impl Line {
    /// Writes the line, with `indent` more levels than its depth.
    pub fn write(&self, out: &mut String, indent: usize) {
        for part in self.text.split('\n') {
            if !part.is_empty() {
                out.extend(std::iter::repeat_n(' ', indent));
                out.push_str(part);
            }
            out.push('\n');
        }
    }

    /// Returns the number of bytes that [`Self::write`] writes.
    #[must_use]
    pub fn byte_len(&self, indent: usize) -> usize {
        self.text
            .split('\n')
            .map(|part| part.len() + indent + 1)
            .sum()
    }
}

/// Returns the lines of cleaned nodes.
#[must_use]
pub fn lines(nodes: &[Node]) -> Vec<Line> {
    let mut lines = Vec::new();
    for node in nodes {
        push_lines(&mut lines, node, 0, None);
    }
    lines
}

/// Returns the line of a node without its children.
#[must_use]
pub fn single_line(node: &Node) -> String {
    line::key(&Node {
        children: Vec::new(),
        ..node.clone()
    })
}

fn push_lines(lines: &mut Vec<Line>, node: &Node, depth: usize, parent: Option<usize>) {
    if node.is_text() {
        let content = line::scalar(node.text.as_deref().unwrap_or_default(), false);
        lines.push(Line {
            depth,
            text: with_content("text".into(), &content),
            parent,
            is_element: false,
            label: "text".into(),
        });
        return;
    }
    let content = line::content(node);
    let index = lines.len();
    lines.push(Line {
        depth,
        text: with_content(line::key(node), &content),
        parent,
        is_element: true,
        label: label(node),
    });
    if content == Content::Children {
        for child in &node.children {
            push_lines(lines, child, depth + 1, Some(index));
        }
    }
}

fn with_content(key: String, content: &Content) -> String {
    match content {
        Content::Nothing => join_text!["- ", key],
        Content::Children => join_text!["- ", key, ":"],
        Content::Inline(scalar) => join_text!["- ", key, ": ", scalar],
        Content::Block(block) => {
            let mut text = join_text!["- ", key, ": |"];
            for part in block {
                text.push('\n');
                if !part.is_empty() {
                    text.push_str("    ");
                    text.push_str(part);
                }
            }
            text
        }
    }
}

fn label(node: &Node) -> String {
    match &node.name {
        Some(name) => join_text![
            node.role,
            " ",
            crate::encode::quote(&one_line(name, MAX_NAME_CHARS / 4))
        ],
        None => node.role.clone(),
    }
}

/// Returns the location of a line, from the outermost element: `main > form "Order"`.
#[must_use]
pub fn path(lines: &[Line], line: &Line) -> String {
    let mut labels = Vec::new();
    let mut parent = line.parent;
    while let Some(above) = parent.and_then(|index| lines.get(index)) {
        labels.push(above.label.as_str());
        parent = above.parent;
    }
    labels.reverse();
    if labels.is_empty() {
        "page".into()
    } else {
        labels.join(" > ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::NodeValue;

    fn text_of(nodes: &[Node]) -> String {
        let mut text = String::new();
        for line in lines(nodes) {
            line.write(&mut text, 2 * line.depth);
        }
        text
    }

    fn control(role: &str, name: &str, value: &str) -> Node {
        Node {
            name: Some(name.into()),
            value: Some(NodeValue::One(value.into())),
            ..Node::new(role)
        }
    }

    #[test]
    fn children_are_indented() {
        let mut paragraph = Node::new("paragraph");
        paragraph.children = vec![Node::new_text("Prices without tax")];
        let form = Node {
            name: Some("Order".into()),
            children: vec![
                control("textbox", "Customer", ""),
                control("textbox", "Note", "first line\n\nsecond line"),
                Node::new_text("1: one"),
                paragraph,
                Node::new("private"),
            ],
            ..Node::new("form")
        };
        assert_eq!(
            text_of(&[form]),
            "- form \"Order\":\n  - textbox \"Customer\": \"\"\n  - textbox \"Note\": |\n      first line\n\n      second line\n  - text: \"1: one\"\n  - paragraph: Prices without tax\n  - private\n"
        );
    }

    #[test]
    fn a_line_has_a_path() {
        let mut main = Node::new("main");
        let mut form = Node::new("form");
        form.name = Some("Order".into());
        form.children = vec![control("textbox", "A", "")];
        main.children = vec![form];
        let lines = lines(&[main]);
        assert_eq!(path(&lines, &lines[2]), "main > form \"Order\"");
        assert_eq!(path(&lines, &lines[0]), "page");
    }
}
