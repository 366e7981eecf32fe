//! The user interface as data.

/// The role of a text.
pub const TEXT_ROLE: &str = "text";
/// The role of content that is not shown.
pub const PRIVATE_ROLE: &str = "private";
/// The role of an element without a meaning.
pub const GENERIC_ROLE: &str = "generic";

/// One element of the user interface, or a text, with its children.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Node {
    /// An ARIA role, `text`, `private` or `generic`.
    pub role: String,
    /// The accessible name.
    pub name: Option<String>,
    /// The handle, such as `e12`, or the app's own id of the element.
    pub reference: Option<String>,
    /// Whether it has a handle only because all elements with a text have one.
    pub is_only_text: bool,
    /// The text of a node whose role is `text`.
    pub text: Option<String>,
    /// The value of a control.
    pub value: Option<NodeValue>,
    /// The choices of a control.
    pub options: Vec<Choice>,
    /// The states that apply, in the order of [`State`].
    pub states: Vec<State>,
    /// The level of a heading or of an item of a tree.
    pub level: Option<u32>,
    /// Why the value is invalid.
    pub error: Option<String>,
    /// The accessible description.
    pub description: Option<String>,
    /// The rows of a table.
    pub rows: Option<Rows>,
    /// Events that the role does not imply.
    pub events: Vec<String>,
    /// The driver's own type of the element, such as a Lowdefy block type.
    pub kind: Option<String>,
    /// How the element is written as markdown, where the role does not determine it.
    pub category: Option<Category>,
    /// The data of a chart or a map, as JSON.
    pub data: Option<String>,
    /// The app's own id.
    pub id: Option<String>,
    /// The app's own id for tests.
    pub test_id: Option<String>,
    /// The children.
    pub children: Vec<Node>,
}

impl Node {
    /// Returns a text.
    pub fn new_text(text: impl Into<String>) -> Self {
        Self {
            role: TEXT_ROLE.into(),
            text: Some(text.into()),
            ..Self::default()
        }
    }

    /// Returns an element.
    pub fn new(role: &str) -> Self {
        Self {
            role: role.into(),
            ..Self::default()
        }
    }

    /// Returns whether this is a text rather than an element.
    #[must_use]
    pub fn is_text(&self) -> bool {
        self.role == TEXT_ROLE
    }

    /// Returns the number of elements in this node: itself and its descendants, without the texts.
    #[must_use]
    pub fn count_elements(&self) -> usize {
        let inside: usize = self.children.iter().map(Self::count_elements).sum();
        inside + usize::from(!self.is_text())
    }
}

/// The value of a control.
#[derive(Debug, Clone, PartialEq)]
pub enum NodeValue {
    /// One value.
    One(String),
    /// The selected values, where several can be selected.
    Several(Vec<String>),
}

/// One choice of a control.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Choice {
    /// The value that the control submits.
    pub value: String,
    /// The label that its user reads.
    pub label: String,
}

/// The rows of a table or grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rows {
    /// The rows that are on the page.
    pub shown: u32,
    /// The total number of rows.
    pub total: u32,
}

/// A state of an element. The order is that in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// A value is required.
    Required,
    /// The value cannot be changed.
    Readonly,
    /// It is disabled.
    Disabled,
    /// It is checked or switched on.
    Checked,
    /// Some of the items that it represents are checked.
    Mixed,
    /// It is selected.
    Selected,
    /// It is pressed.
    Pressed,
    /// The element that it controls is shown.
    Expanded,
    /// The element that it controls is hidden.
    Collapsed,
    /// It has the keyboard focus.
    Focused,
    /// It is a frame of another origin, whose content is inaccessible.
    Foreign,
}

impl State {
    /// All states, in their order.
    pub const ALL: [Self; 11] = [
        Self::Required,
        Self::Readonly,
        Self::Disabled,
        Self::Checked,
        Self::Mixed,
        Self::Selected,
        Self::Pressed,
        Self::Expanded,
        Self::Collapsed,
        Self::Focused,
        Self::Foreign,
    ];

    /// Returns the name that drivers use.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Required => "required",
            Self::Readonly => "readonly",
            Self::Disabled => "disabled",
            Self::Checked => "checked",
            Self::Mixed => "mixed",
            Self::Selected => "selected",
            Self::Pressed => "pressed",
            Self::Expanded => "expanded",
            Self::Collapsed => "collapsed",
            Self::Focused => "focused",
            Self::Foreign => "foreign",
        }
    }

    /// Returns the key of the state in a text.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Mixed => "checked=mixed",
            other => other.name(),
        }
    }

    /// Returns the state with the given name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }
}

/// How an element is written as markdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Category {
    /// It has a value that can be set.
    Input,
    /// It shows something, or can be clicked.
    Display,
    /// It contains other elements.
    Container,
    /// It contains items of one kind.
    List,
}

impl Category {
    /// Returns the category with the given name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "input" => Some(Self::Input),
            "display" => Some(Self::Display),
            "container" => Some(Self::Container),
            "list" => Some(Self::List),
            _ => None,
        }
    }

    /// Returns the name of the markdown element.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Display => "display",
            Self::Container => "container",
            Self::List => "list",
        }
    }

    /// Returns the category of a role.
    #[must_use]
    pub fn of_role(role: &str) -> Self {
        match role {
            "textbox" | "searchbox" | "spinbutton" | "combobox" | "listbox" | "checkbox"
            | "radio" | "switch" | "slider" => Self::Input,
            "list" | "table" | "grid" | "treegrid" | "tree" | "feed" => Self::List,
            "heading" | "button" | "link" | "paragraph" | "option" | "menuitem"
            | "menuitemcheckbox" | "menuitemradio" | "tab" | "img" | "status" | "alert"
            | "cell" | "gridcell" | "columnheader" | "rowheader" | "row" | "caption" | "code"
            | "emphasis" | "strong" | "time" | "progressbar" | "meter" | "separator"
            | "blockquote" | "term" | "definition" | "tooltip" | "figure" => Self::Display,
            _ => Self::Container,
        }
    }
}

/// The user interface at one moment.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tree {
    /// The outermost element. If it is a `generic`, it is not written itself.
    pub root: Node,
    /// The number of elements of the page, including those beyond the driver's limit.
    pub elements: usize,
}
