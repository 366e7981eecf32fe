//! The user interface as data.

/// The role of a text.
pub const TEXT_ROLE: &str = "text";
/// The role of what is not shown.
pub const PRIVATE_ROLE: &str = "private";
/// The role of an element that means nothing by itself.
pub const GENERIC_ROLE: &str = "generic";

/// One element of the user interface, or a text, with what is inside it.
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
    /// The states that hold, in the order of [`State`].
    pub states: Vec<State>,
    /// The level of a heading or of an item of a tree.
    pub level: Option<u32>,
    /// Why the value is not valid.
    pub error: Option<String>,
    /// The accessible description.
    pub description: Option<String>,
    /// The rows of a table.
    pub rows: Option<Rows>,
    /// Events that the role does not imply.
    pub events: Vec<String>,
    /// The driver's own type of the element, such as a Lowdefy block type.
    pub kind: Option<String>,
    /// How the element is written as markdown, where the role does not say so.
    pub category: Option<Category>,
    /// What a chart or a map shows, as JSON.
    pub data: Option<String>,
    /// The app's own id.
    pub id: Option<String>,
    /// The app's own id for tests.
    pub test_id: Option<String>,
    /// What is inside.
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

    /// Returns whether this is a text, which is no element.
    #[must_use]
    pub fn is_text(&self) -> bool {
        self.role == TEXT_ROLE
    }

    /// Returns the elements of this node: itself and those inside, without the texts.
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
    /// What is selected of several.
    Several(Vec<String>),
}

/// One choice of a control.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Choice {
    /// What the control sends.
    pub value: String,
    /// What its user reads.
    pub label: String,
}

/// The rows of a table or grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rows {
    /// Those that are on the page.
    pub shown: u32,
    /// All.
    pub total: u32,
}

/// A state of an element. The order is that of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// A value must be given.
    Required,
    /// The value cannot be changed.
    Readonly,
    /// It cannot be used now.
    Disabled,
    /// It is checked or switched on.
    Checked,
    /// Some of what it stands for is checked.
    Mixed,
    /// It is selected.
    Selected,
    /// It is pressed.
    Pressed,
    /// What it controls is shown.
    Expanded,
    /// What it controls is not shown.
    Collapsed,
    /// The keyboard acts on it.
    Focused,
    /// It is a frame of another origin, whose content cannot be seen.
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

    /// Returns how the state is written in a text.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Mixed => "checked=mixed",
            other => other.name(),
        }
    }

    /// Returns the state of a name.
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
    /// It shows something, or does something when it is clicked.
    Display,
    /// It contains other elements.
    Container,
    /// It contains items of one kind.
    List,
}

impl Category {
    /// Returns the category of a name.
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
    /// The outermost element. It is not written itself if it is a `generic`.
    pub root: Node,
    /// The elements of the page, those beyond the driver's limit included.
    pub elements: usize,
}
