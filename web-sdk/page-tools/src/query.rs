//! Finds elements by their properties.

use crate::action::Find;
use crate::code::ActionCode;
use crate::limits::MAX_CANDIDATES;
use crate::node::{Node, NodeValue, State};
use crate::outline::single_line;
use crate::refusal::Failure;
use crate::text::{contains_ignoring_case, decimal, join_text, lowercase, one_line};

/// Returns the element that matches the target of an action.
///
/// Controls are preferred to elements that only have a text. An element whose whole name matches is
/// preferred to those whose names contain the text, and to those whose names differ in case. Among
/// several with the same role and name, the only one that is enabled is chosen.
///
/// # Errors
///
/// Returns an error if not exactly one element matches.
pub fn find_one<'a>(nodes: &'a [Node], find: &Find) -> Result<&'a str, Failure> {
    let mut found = Vec::new();
    for node in nodes {
        collect(node, &mut found, &|node| {
            node.reference.is_some()
                && !is_row_of_text(node, find)
                && matches(node, find, has_text_of_children(node, find))
        });
    }
    prefer(&mut found, |node| !node.is_only_text);
    if let Some(name) = &find.name {
        let folded = lowercase(name);
        prefer(&mut found, |node| {
            node.name.as_ref().is_some_and(|it| lowercase(it) == folded)
        });
        prefer(&mut found, |node| node.name.as_ref() == Some(name));
    }
    let are_equal = found
        .windows(2)
        .all(|pair| pair[0].role == pair[1].role && pair[0].name == pair[1].name);
    if are_equal {
        prefer(&mut found, |node| !node.states.contains(&State::Disabled));
    }
    match found.as_slice() {
        [only] => Ok(only.reference.as_deref().unwrap_or_default()),
        [] => Err(Failure::new(
            ActionCode::TargetNotFound,
            join_text![
                "nothing that can be acted on has ",
                describe(find),
                ": take a page_snapshot, or use page_query"
            ],
        )),
        several => {
            let candidates: Vec<_> = several
                .iter()
                .take(MAX_CANDIDATES)
                .map(|node| single_line(node))
                .collect();
            Err(Failure::new(
                ActionCode::TargetAmbiguous,
                join_text![
                    decimal(several.len()),
                    " elements have ",
                    describe(find),
                    ": use the ref of one of them. ",
                    candidates.join("; ")
                ],
            ))
        }
    }
}

/// Keeps only the preferred nodes, if there are any.
fn prefer(found: &mut Vec<&Node>, is_preferred: impl Fn(&Node) -> bool) {
    if found.iter().any(|node| is_preferred(node)) {
        found.retain(|node| is_preferred(node));
    }
}

/// Returns the matching nodes with their ancestors and without their descendants, and the number of
/// matches.
#[must_use]
pub fn filter(nodes: &[Node], find: &Find, limit: usize) -> (Vec<Node>, usize) {
    let mut count = 0;
    let kept = filter_siblings(nodes, find, limit, &mut count);
    (kept, count)
}

fn filter_siblings(nodes: &[Node], find: &Find, limit: usize, count: &mut usize) -> Vec<Node> {
    let mut kept = Vec::new();
    for node in nodes {
        let is_match = matches(node, find, false);
        *count += usize::from(is_match);
        let is_shown = is_match && *count <= limit;
        let mut children = filter_siblings(&node.children, find, limit, count);
        if is_shown {
            // The text of an element belongs to the match.
            let texts = node.children.iter().filter(|child| child.is_text());
            let is_only_text = children.is_empty() && node.children.len() == texts.clone().count();
            if is_only_text {
                children = texts.cloned().collect();
            }
        }
        if is_shown || !children.is_empty() {
            let mut node = node.clone();
            node.children = children;
            kept.push(node);
        }
    }
    kept
}

/// Returns whether the text of an element includes that of its descendants. It does in a control.
/// In containers, such as a row or a part that scrolls, it does only if their role is requested.
/// Otherwise a click on the text would be a click at the centre of the container.
fn has_text_of_children(node: &Node, find: &Find) -> bool {
    const CONTROLS: [&str; 13] = [
        "button",
        "checkbox",
        "columnheader",
        "link",
        "menuitem",
        "menuitemcheckbox",
        "menuitemradio",
        "option",
        "radio",
        "switch",
        "tab",
        "textbox",
        "treeitem",
    ];
    find.role.is_some() || !node.events.is_empty() || CONTROLS.contains(&node.role.as_str())
}

/// Returns whether an element is only the row of the wanted text: its name joins its cells.
fn is_row_of_text(node: &Node, find: &Find) -> bool {
    node.role == "row" && find.role.is_none() && find.name.is_none() && find.text.is_some()
}

fn collect<'a>(node: &'a Node, found: &mut Vec<&'a Node>, is_match: &dyn Fn(&Node) -> bool) {
    if is_match(node) {
        found.push(node);
    }
    for child in &node.children {
        collect(child, found, is_match);
    }
}

/// Returns whether a node has all wanted properties. The text of an element is its value and its
/// direct texts, or all texts in it if `is_deep`.
fn matches(node: &Node, find: &Find, is_deep: bool) -> bool {
    let equals = |wanted: &Option<String>, actual: Option<&str>| {
        wanted
            .as_deref()
            .is_none_or(|wanted| Some(wanted) == actual)
    };
    let role = find.role.as_ref().map(|role| role.to_ascii_lowercase());
    equals(&role, Some(&node.role))
        && (equals(&find.id, node.id.as_deref()) || equals(&find.id, node.reference.as_deref()))
        && equals(&find.test_id, node.test_id.as_deref())
        && find.name.as_ref().is_none_or(|name| {
            node.name
                .as_ref()
                .is_some_and(|it| contains_ignoring_case(it, name))
        })
        && find
            .text
            .as_ref()
            .is_none_or(|text| has_text(node, text, is_deep))
}

/// Returns whether a text occurs in one of the nodes: in a name, a value, an error or a text.
#[must_use]
pub fn is_text_in(nodes: &[Node], text: &str) -> bool {
    nodes
        .iter()
        .any(|node| own_text_contains(node, text) || is_text_in(&node.children, text))
}

fn has_text(node: &Node, text: &str, is_deep: bool) -> bool {
    if node.is_text() {
        return false;
    }
    if own_text_contains(node, text) {
        return true;
    }
    let mut children = node.children.iter();
    children.any(|child| {
        (child.is_text() && own_text_contains(child, text))
            || (is_deep && is_part_of_parent(child) && has_text(child, text, true))
    })
}

/// Returns whether a node is only a part of its parent and not a separate target.
fn is_part_of_parent(node: &Node) -> bool {
    node.reference.is_none() || node.is_only_text
}

fn own_text_contains(node: &Node, text: &str) -> bool {
    let values = match &node.value {
        None => &[],
        Some(NodeValue::One(value)) => std::slice::from_ref(value),
        Some(NodeValue::Several(values)) => values.as_slice(),
    };
    let texts = [&node.name, &node.text, &node.error, &node.description];
    let mut texts = texts.into_iter().flatten().chain(values);
    texts.any(|it| contains_ignoring_case(it, text))
}

fn describe(find: &Find) -> String {
    let fields = [
        ("role", &find.role),
        ("name", &find.name),
        ("text", &find.text),
        ("id", &find.id),
        ("testId", &find.test_id),
    ];
    let fields = fields.into_iter().filter_map(|(field, value)| {
        let value = one_line(value.as_deref()?, 80);
        Some(join_text![field, " ", crate::encode::quote(&value)])
    });
    fields.collect::<Vec<_>>().join(" and ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn button(name: &str, reference: &str) -> Node {
        Node {
            name: Some(name.into()),
            reference: Some(reference.into()),
            ..Node::new("button")
        }
    }

    fn page() -> Vec<Node> {
        let mut paragraph = Node::new("paragraph");
        paragraph.children = vec![Node::new_text("Total: 3")];
        let mut form = Node::new("form");
        form.children = vec![button("Save", "e1"), button("Save as", "e2"), paragraph];
        let mut main = Node::new("main");
        main.children = vec![form, button("Delete", "e3"), button("delete", "e4")];
        vec![main]
    }

    fn by_name(name: &str) -> Find {
        Find {
            role: Some("button".into()),
            name: Some(name.into()),
            ..Find::default()
        }
    }

    #[test]
    fn a_whole_name_is_preferred_to_a_part() {
        assert_eq!(find_one(&page(), &by_name("save")).unwrap(), "e1");
        assert_eq!(find_one(&page(), &by_name("save a")).unwrap(), "e2");
    }

    #[test]
    fn a_name_in_the_same_case_is_preferred() {
        assert_eq!(find_one(&page(), &by_name("Delete")).unwrap(), "e3");
        assert_eq!(find_one(&page(), &by_name("delete")).unwrap(), "e4");
        assert_eq!(
            find_one(&page(), &by_name("DELETE")).unwrap_err().code,
            ActionCode::TargetAmbiguous
        );
    }

    #[test]
    fn among_equal_elements_the_enabled_one_is_chosen() {
        let mut disabled = button("Send", "e1");
        disabled.states = vec![State::Disabled];
        let one = [disabled.clone(), button("Send", "e2")];
        assert_eq!(find_one(&one, &by_name("send")).unwrap(), "e2");
        let two = [disabled.clone(), button("Send", "e2"), button("Send", "e3")];
        let ambiguous = find_one(&two, &by_name("send")).unwrap_err();
        assert_eq!(ambiguous.code, ActionCode::TargetAmbiguous);
        let unlike = [disabled, button("Send all", "e2")];
        assert!(find_one(&unlike, &by_name("sen")).is_err());
    }

    #[test]
    fn an_id_is_the_id_of_the_app_or_the_handle() {
        let mut save = button("Save", "e1");
        save.id = Some("save".into());
        for (id, count) in [("save", 1), ("e1", 1), ("e2", 0)] {
            let find = Find {
                id: Some(id.into()),
                ..Find::default()
            };
            assert_eq!(filter(std::slice::from_ref(&save), &find, 50).1, count);
        }
    }

    #[test]
    fn a_text_in_a_container_is_not_the_container() {
        let mut row = Node::new("row");
        row.reference = Some("e5".into());
        row.children = vec![Node::new("cell")];
        row.children[0].children = vec![Node::new_text("bolt 3")];
        row.name = Some("bolt 3 | 1".into());
        let mut rows = vec![row];
        let mut find = Find {
            text: Some("bolt".into()),
            ..Find::default()
        };
        let none = find_one(&rows, &find).unwrap_err();
        assert_eq!(none.code, ActionCode::TargetNotFound);
        rows[0].children[0].reference = Some("e6".into());
        assert_eq!(find_one(&rows, &find).unwrap(), "e6");
        rows[0].children[0].reference = None;
        find.role = Some("row".into());
        assert_eq!(find_one(&rows, &find).unwrap(), "e5");
    }

    /// The page may change between a look at the controls and one at all texts.
    #[test]
    fn controls_are_preferred_to_elements_that_only_have_a_text() {
        let mut text = Node::new("generic");
        text.reference = Some("e6".into());
        text.is_only_text = true;
        text.children = vec![Node::new_text("15")];
        let find = Find {
            text: Some("15".into()),
            ..Find::default()
        };
        let alone = find_one(std::slice::from_ref(&text), &find);
        assert_eq!(alone.unwrap(), "e6");
        let mut cell = Node::new("cell");
        cell.reference = Some("e5".into());
        cell.events = vec!["onClick".into()];
        cell.children = vec![text];
        assert_eq!(find_one(&[cell], &find).unwrap(), "e5");
    }

    #[test]
    fn an_error_lists_the_candidates() {
        let none = find_one(&page(), &by_name("Print")).unwrap_err();
        assert_eq!(none.code, ActionCode::TargetNotFound);
        assert!(none.message.contains("role \"button\" and name \"Print\""));
        let several = find_one(&page(), &by_name("DELETE")).unwrap_err();
        assert_eq!(several.code, ActionCode::TargetAmbiguous);
        assert!(
            several
                .message
                .ends_with("button \"Delete\" [ref=e3]; button \"delete\" [ref=e4]"),
            "{}",
            several.message
        );
    }

    #[test]
    fn matches_are_shown_with_their_ancestors() {
        let text = Find {
            text: Some("total".into()),
            ..Find::default()
        };
        let (nodes, count) = filter(&page(), &text, 50);
        assert_eq!(count, 1);
        let form = &nodes[0].children[0];
        assert_eq!(form.role, "form");
        assert_eq!(form.children.len(), 1);
        assert_eq!(form.children[0].children, [Node::new_text("Total: 3")]);
    }

    #[test]
    fn all_matches_are_counted_and_the_first_are_shown() {
        let (nodes, count) = filter(&page(), &by_name(""), 2);
        assert_eq!(count, 4);
        let shown: usize = nodes.iter().map(Node::count_elements).sum();
        assert_eq!(shown, 4, "main, form and two buttons");
    }

    #[test]
    fn a_text_is_found_anywhere() {
        assert!(is_text_in(&page(), "total: 3"));
        assert!(is_text_in(&page(), "Delete"));
        assert!(!is_text_in(&page(), "Total: 4"));
    }
}
