//! Converts the content of a window to the tree that page tools write.

use mcp_web_sdk::page::{Node, NodeValue, Rows, State, Tree, TreeOptions};

use crate::handles::Handles;
use crate::item::{Item, ItemAction, Property};
use crate::role;

/// Builds a tree of the elements that assistive technologies see.
pub(crate) struct TreeBuilder<'a> {
    handles: &'a mut Handles,
    focused: Option<Item>,
    limit: usize,
    every_text: bool,
    /// The number of elements so far.
    elements: usize,
}

impl<'a> TreeBuilder<'a> {
    pub(crate) fn new(
        handles: &'a mut Handles,
        options: &TreeOptions,
        focused: Option<Item>,
    ) -> Self {
        Self {
            handles,
            focused,
            limit: options.limit,
            every_text: options.every_text,
            elements: 0,
        }
    }

    /// Builds the tree of `roots` and their descendants.
    pub(crate) fn build(mut self, roots: &[Item]) -> Tree {
        let mut root = Node::new("generic");
        for item in roots {
            self.add(item, None, &mut root.children);
        }
        Tree {
            root,
            // The outermost element also counts.
            elements: self.elements + 1,
        }
    }

    /// Adds an element with its children. An element without a role is left out, and its children
    /// move up.
    fn add(&mut self, item: &Item, parent_name: Option<&str>, nodes: &mut Vec<Node>) {
        if item.hides_content() {
            return;
        }
        let is_window = item.title().is_some();
        if is_window || !item.is_accessible() || !item.is_shown() {
            return self.add_children(item, parent_name, nodes);
        }
        let role = role::of_item(item);
        if role == "paragraph" {
            return self.add_text(item, parent_name, nodes);
        }
        self.elements += 1;
        if self.elements > self.limit {
            // The elements are only counted, so the names are not needed.
            return self.add_children(item, None, nodes);
        }
        let mut node = describe(item, role);
        if role::is_control(role) || is_acted_on(item) {
            node.reference = Some(self.handles.of(item));
        }
        if self.focused.as_ref() == Some(item) {
            node.states.push(State::Focused);
            node.states.sort_unstable();
        }
        let name = node.name.clone();
        self.add_children(item, name.as_deref(), &mut node.children);
        if let Some(total) = count(item) {
            let options = node.children.iter().filter(|it| it.role == "option");
            let shown = u32::try_from(options.count()).unwrap_or(u32::MAX);
            node.rows = Some(Rows { shown, total });
        }
        nodes.push(node);
    }

    fn add_children(&mut self, item: &Item, parent_name: Option<&str>, nodes: &mut Vec<Node>) {
        for child in item.children() {
            self.add(&child, parent_name, nodes);
        }
    }

    /// Adds a text, unless it repeats the name of its parent.
    fn add_text(&mut self, item: &Item, parent_name: Option<&str>, nodes: &mut Vec<Node>) {
        let text = item.property(Property::Label).unwrap_or_default();
        if text.is_empty() || self.elements > self.limit {
            return;
        }
        if parent_name == Some(text.as_str()) {
            return;
        }
        let mut node = Node::new_text(text);
        if self.every_text {
            self.elements += 1;
            node = Node {
                reference: Some(self.handles.of(item)),
                is_only_text: true,
                id: item.id(),
                children: vec![node],
                ..Node::new("paragraph")
            };
        }
        nodes.push(node);
    }
}

/// Returns an element without its children.
pub(crate) fn describe(item: &Item, role: &str) -> Node {
    let placeholder = item.property(Property::PlaceholderText);
    let placeholder = placeholder.filter(|text| !text.is_empty());
    let label = item.property(Property::Label);
    let name = label.filter(|text| !text.is_empty()).or(placeholder);
    let description = item.property(Property::Description);
    Node {
        name,
        value: value(item, role).map(NodeValue::One),
        states: states(item, role),
        description: description.filter(|text| !text.is_empty()),
        id: item.id(),
        test_id: item.property(Property::Id).filter(|id| !id.is_empty()),
        ..Node::new(role)
    }
}

/// Returns the value of an element, unless it is secret.
pub(crate) fn value(item: &Item, role: &str) -> Option<String> {
    let is_shown = matches!(
        role,
        "textbox" | "slider" | "spinbutton" | "combobox" | "progressbar"
    );
    if !is_shown || item.is_password() {
        return None;
    }
    item.property(Property::Value)
}

fn states(item: &Item, role: &str) -> Vec<State> {
    let mut states = Vec::new();
    let mut push = |holds: bool, state| {
        if holds {
            states.push(state);
        }
    };
    let is = |property| item.flag(property) == Some(true);
    push(is(Property::ReadOnly), State::Readonly);
    push(item.flag(Property::Enabled) == Some(false), State::Disabled);
    let is_checked = is(Property::Checked);
    push(is_checked && role != "button", State::Checked);
    push(is(Property::ItemSelected), State::Selected);
    push(is_checked && role == "button", State::Pressed);
    if let Some(is_expanded) = item.flag(Property::Expanded) {
        push(is_expanded, State::Expanded);
        push(!is_expanded, State::Collapsed);
    }
    states
}

/// Returns whether assistive technologies can act on an element.
fn is_acted_on(item: &Item) -> bool {
    [
        ItemAction::Default,
        ItemAction::Increment,
        ItemAction::Expand,
        ItemAction::SetValue,
    ]
    .into_iter()
    .any(|action| item.can(action))
}

/// Returns the number of items of a list, including those that were not created.
fn count(item: &Item) -> Option<u32> {
    item.property(Property::ItemCount)?.parse().ok()
}
