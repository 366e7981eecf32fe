//! The ARIA role of an element.

use i_slint_core::items::AccessibleRole;

use crate::item::Item;

/// Returns the role of the equivalent element on a web page.
pub(crate) fn of_item(item: &Item) -> &'static str {
    match item.accessible_role() {
        AccessibleRole::Button => "button",
        AccessibleRole::Checkbox => "checkbox",
        AccessibleRole::Combobox => "combobox",
        AccessibleRole::Groupbox => "group",
        AccessibleRole::Image => "img",
        AccessibleRole::List => "listbox",
        AccessibleRole::ListItem => "option",
        AccessibleRole::Slider => "slider",
        AccessibleRole::Spinbox => "spinbutton",
        AccessibleRole::Tab => "tab",
        AccessibleRole::TabList => "tablist",
        AccessibleRole::TabPanel => "tabpanel",
        AccessibleRole::Text => "paragraph",
        AccessibleRole::Table => "table",
        AccessibleRole::Tree => "tree",
        AccessibleRole::ProgressIndicator => "progressbar",
        AccessibleRole::TextInput => "textbox",
        AccessibleRole::Switch => "switch",
        AccessibleRole::RadioButton => "radio",
        AccessibleRole::RadioGroup => "radiogroup",
        AccessibleRole::Banner => "banner",
        AccessibleRole::Complementary => "complementary",
        AccessibleRole::ContentInfo => "contentinfo",
        AccessibleRole::Form => "form",
        AccessibleRole::Main => "main",
        AccessibleRole::Navigation => "navigation",
        AccessibleRole::Region => "region",
        AccessibleRole::Search => "search",
        _ => "generic",
    }
}

/// Returns whether elements with this role are controls, even if they offer no action.
pub(crate) fn is_control(role: &str) -> bool {
    matches!(
        role,
        "button"
            | "checkbox"
            | "combobox"
            | "listbox"
            | "option"
            | "radio"
            | "slider"
            | "spinbutton"
            | "switch"
            | "tab"
            | "table"
            | "textbox"
            | "tree"
    )
}
