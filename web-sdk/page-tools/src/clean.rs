//! Makes a tree safe and small before it is written: removes what a reader cannot see and what is
//! repeated.

use crate::limits::{Limits, MAX_NAME_CHARS, MAX_TEXT_CHARS};
use crate::node::{Choice, GENERIC_ROLE, Node, NodeValue, PRIVATE_ROLE, State, TEXT_ROLE};
use crate::text::{contains, cut_bytes, cut_chars, is_word_char, one_line, several_lines};

/// Roles whose content is part of the text around them.
const INLINE_ROLES: [&str; 9] = [
    GENERIC_ROLE,
    "code",
    "emphasis",
    "mark",
    "rowgroup",
    "strong",
    "subscript",
    "superscript",
    "time",
];
/// Roles that are left out when they have no content.
const EMPTY_ROLES: [&str; 12] = [
    "article",
    "banner",
    "complementary",
    "contentinfo",
    "figure",
    "group",
    "list",
    "listitem",
    "main",
    "navigation",
    "paragraph",
    "region",
];
/// Roles of the cells of a row.
const CELL_ROLES: [&str; 4] = ["cell", "gridcell", "columnheader", "rowheader"];

/// Returns the nodes to write, in order. The root itself is left out if it has no meaning.
#[must_use]
pub fn clean(root: &Node, limits: &Limits) -> Vec<Node> {
    let mut nodes = Vec::new();
    push_clean(&mut nodes, root, limits);
    finish_siblings(&mut nodes);
    nodes
}

/// Returns the nodes without those that cannot be acted on and contain no node that can.
#[must_use]
pub fn keep_interactive(nodes: Vec<Node>) -> Vec<Node> {
    let kept = nodes.into_iter().filter_map(|mut node| {
        node.children = keep_interactive(node.children);
        (node.reference.is_some() || !node.children.is_empty()).then_some(node)
    });
    kept.collect()
}

fn push_clean(siblings: &mut Vec<Node>, node: &Node, limits: &Limits) {
    let role = clean_role(&node.role);
    if role == PRIVATE_ROLE {
        siblings.push(Node::new(PRIVATE_ROLE));
        return;
    }
    if role == TEXT_ROLE {
        push_text(siblings, node.text.as_deref().unwrap_or_default());
        return;
    }
    let mut children = Vec::new();
    for child in &node.children {
        push_clean(&mut children, child, limits);
    }
    let is_plain = node.reference.is_none();
    let name = node
        .name
        .as_deref()
        .map(|name| one_line(name, MAX_NAME_CHARS))
        .filter(|name| !name.is_empty());
    let is_unnamed_image = role == "img" && name.is_none();
    if is_plain && (INLINE_ROLES.contains(&role.as_str()) || is_unnamed_image) {
        for child in children {
            push_node(siblings, child);
        }
        return;
    }
    let mut cleaned = clean_fields(node, role, name, limits);
    finish_siblings(&mut children);
    cleaned.children = children;
    if cleaned.role == "row" {
        join_cells(&mut cleaned);
    } else {
        drop_name_texts(&mut cleaned);
    }
    let says_nothing = is_plain
        && cleaned.name.is_none()
        && cleaned.children.is_empty()
        && cleaned.value.is_none()
        && EMPTY_ROLES.contains(&cleaned.role.as_str());
    if !says_nothing {
        siblings.push(cleaned);
    }
}

fn clean_fields(node: &Node, role: String, name: Option<String>, limits: &Limits) -> Node {
    let short = |text: &Option<String>| {
        let text = text.as_deref().map(|text| one_line(text, MAX_NAME_CHARS));
        text.filter(|text| !text.is_empty())
    };
    let value = match (&node.value, &node.data) {
        (Some(value), _) => Some(clean_value(value, limits)),
        (None, Some(data)) => Some(clean_value(&NodeValue::One(data.clone()), limits)),
        (None, None) => None,
    };
    let is_mixed = node.states.contains(&State::Mixed);
    let states = State::ALL
        .into_iter()
        .filter(|state| node.states.contains(state) && !(is_mixed && *state == State::Checked));
    Node {
        role,
        name,
        reference: node
            .reference
            .as_deref()
            .map(clean_word)
            .filter(|it| !it.is_empty()),
        is_only_text: node.is_only_text,
        text: None,
        value,
        options: node.options.iter().map(clean_choice).collect(),
        states: states.collect(),
        level: node.level,
        error: short(&node.error),
        description: short(&node.description),
        rows: node.rows,
        events: node
            .events
            .iter()
            .map(|event| clean_word(event))
            .filter(|it| !it.is_empty())
            .collect(),
        kind: node
            .kind
            .as_deref()
            .map(clean_word)
            .filter(|kind| !kind.is_empty()),
        category: node.category,
        data: None,
        id: node.id.clone(),
        test_id: node.test_id.clone(),
        children: Vec::new(),
    }
}

/// The longest role of ARIA has 16 characters, and an app may define its own roles.
const MAX_ROLE_CHARS: usize = 40;

/// Keeps letters, digits and hyphens: roles are words.
fn clean_role(role: &str) -> String {
    let word: String = role
        .chars()
        .filter(|it| it.is_ascii_alphanumeric() || *it == '-')
        .take(MAX_ROLE_CHARS)
        .collect();
    let starts_well = word.starts_with(|it: char| it.is_ascii_alphabetic());
    if starts_well {
        word
    } else {
        GENERIC_ROLE.into()
    }
}

/// Keeps the characters that occur in handles, ids of an app and names of events: no spaces, quotes
/// or brackets.
fn clean_word(word: &str) -> String {
    let word = crate::text::clean(word);
    let kept = word
        .chars()
        .filter(|it| is_word_char(*it) || matches!(it, '-' | '_' | '.' | '$' | '/'));
    kept.take(MAX_NAME_CHARS).collect()
}

fn clean_value(value: &NodeValue, limits: &Limits) -> NodeValue {
    let clean = |text: &String| cut_bytes(&crate::text::clean(text), limits.max_value_bytes);
    match value {
        NodeValue::One(text) => NodeValue::One(clean(text)),
        NodeValue::Several(texts) => NodeValue::Several(texts.iter().map(clean).collect()),
    }
}

fn clean_choice(choice: &Choice) -> Choice {
    Choice {
        value: one_line(&choice.value, MAX_NAME_CHARS),
        label: one_line(&choice.label, MAX_NAME_CHARS),
    }
}

fn push_node(siblings: &mut Vec<Node>, node: Node) {
    match node.text {
        Some(text) if node.role == TEXT_ROLE => push_text(siblings, &text),
        text => siblings.push(Node { text, ..node }),
    }
}

/// Adds a text, joining it to the text before it if there is one.
fn push_text(siblings: &mut Vec<Node>, text: &str) {
    let text = crate::text::clean(text);
    if text.trim().is_empty() {
        return;
    }
    if let Some(before) = siblings.last_mut().filter(|node| node.is_text()) {
        let joined = before.text.get_or_insert_default();
        // Real text is cut after everything is joined. This only bounds the work.
        if joined.len() < 16 * MAX_TEXT_CHARS {
            joined.push(' ');
            joined.push_str(&text);
        }
        return;
    }
    siblings.push(Node::new_text(text));
}

/// Cuts the texts among siblings, and removes texts that repeat another sibling.
fn finish_siblings(siblings: &mut Vec<Node>) {
    for node in siblings.iter_mut().filter(|node| node.is_text()) {
        let text = several_lines(node.text.as_deref().unwrap_or_default(), MAX_TEXT_CHARS);
        node.text = Some(text);
    }
    let names: Vec<_> = siblings
        .iter()
        .filter(|node| node.reference.is_some())
        .filter_map(|node| node.name.clone())
        .collect();
    siblings.retain(|node| match &node.text {
        Some(text) if node.is_text() => {
            let text = one_line(text, MAX_NAME_CHARS);
            !text.is_empty() && !names.contains(&text)
        }
        _ => true,
    });
    for index in (1..siblings.len()).rev() {
        let (elder, younger) = siblings.split_at_mut(index);
        if younger[0].description.is_some()
            && elder[index - 1].description == younger[0].description
        {
            younger[0].description = None;
        }
    }
}

/// Removes the texts inside an element that repeat its name.
fn drop_name_texts(node: &mut Node) {
    let Some(name) = node.name.clone() else {
        return;
    };
    if node.value.is_some() && node.reference.is_some() {
        // The texts in a control repeat its value.
        node.children.retain(|child| !child.is_text());
    }
    drop_texts(&mut node.children, &name);
}

fn drop_texts(children: &mut Vec<Node>, name: &str) {
    for child in children.iter_mut() {
        if child.reference.is_none() {
            drop_texts(&mut child.children, name);
        }
    }
    children.retain(|child| {
        if child.is_text() {
            let text = one_line(child.text.as_deref().unwrap_or_default(), MAX_NAME_CHARS);
            return !contains(name, &text);
        }
        let is_empty = child.reference.is_none()
            && child.children.is_empty()
            && child.value.is_none()
            && child
                .name
                .as_ref()
                .is_none_or(|it| child.role == "img" && contains(name, it));
        !(is_empty
            && (EMPTY_ROLES.contains(&child.role.as_str())
                || child.role == "img"
                || child.role == "heading"))
    });
}

/// Joins the cells of a row into one name. Controls in the cells become the children.
fn join_cells(row: &mut Node) {
    let mut texts = Vec::new();
    let mut children = Vec::new();
    let mut has_cells = false;
    for cell in std::mem::take(&mut row.children) {
        if !CELL_ROLES.contains(&cell.role.as_str()) {
            children.push(cell);
            continue;
        }
        has_cells = true;
        if cell.reference.is_some() {
            texts.push(String::new());
            children.push(cell);
            continue;
        }
        let mut text = String::new();
        let has_controls = collect_text(&cell.children, &mut text, &mut children);
        let is_named = text.is_empty() && !has_controls;
        texts.push(if is_named {
            cell.name.unwrap_or_default()
        } else {
            one_line(&text, MAX_NAME_CHARS)
        });
    }
    row.children = children;
    if !has_cells {
        drop_name_texts(row);
    } else if texts.iter().all(String::is_empty) {
        row.name = None;
    } else {
        row.name = Some(cut_chars(&texts.join(" | "), 3 * MAX_NAME_CHARS));
    }
}

/// Collects the text of nodes, and moves the controls to `controls`. Returns whether there were
/// any.
fn collect_text(nodes: &[Node], text: &mut String, controls: &mut Vec<Node>) -> bool {
    let mut has_controls = false;
    for node in nodes {
        if node.reference.is_some() || node.role == PRIVATE_ROLE {
            controls.push(node.clone());
            has_controls = true;
            continue;
        }
        for part in [&node.text, &node.name].into_iter().flatten() {
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(part);
        }
        if let Some(NodeValue::One(value)) = &node.value {
            text.push(' ');
            text.push_str(value);
        }
        has_controls |= collect_text(&node.children, text, controls);
    }
    has_controls
}

#[cfg(test)]
mod tests;
