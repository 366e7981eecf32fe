//! Actions that are one step in the thread of the window.

use mcp_web_sdk::page::{ActionCode, ActionFailure};

use crate::inspect::{check_usable, label};
use crate::item::{Item, ItemAction};
use crate::role;

/// The events that `triggerEvent` can trigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trigger {
    /// The default action of assistive technologies, or a pointer click if there is none.
    Click,
    PointerClick,
    DoubleClick,
    ContextMenu,
    Focus,
}

const TRIGGERS: [(&str, Trigger); 7] = [
    ("click", Trigger::Click),
    ("pointerclick", Trigger::PointerClick),
    ("doubleclick", Trigger::DoubleClick),
    ("dblclick", Trigger::DoubleClick),
    ("contextmenu", Trigger::ContextMenu),
    ("focus", Trigger::Focus),
    ("focusin", Trigger::Focus),
];

impl Trigger {
    /// Parses the name of an event in any spelling: `onClick`, `click`.
    pub(crate) fn parse(event: &str) -> Result<Self, ActionFailure> {
        let lower = event.to_ascii_lowercase();
        let name = lower.strip_prefix("on").unwrap_or(&lower);
        let known = TRIGGERS.iter().find(|(known, _)| *known == name);
        known.map(|(_, trigger)| *trigger).ok_or_else(|| {
            let message = format!(
                "a window has no event \"{event}\": use onClick, onPointerClick, onDoubleClick, onContextMenu or onFocus"
            );
            ActionFailure::new(ActionCode::EventUnknown, message)
        })
    }
}

/// Runs the default action of assistive technologies. Returns false if there is none, and the
/// pointer must be used.
pub(crate) fn run_default_action(item: &Item) -> Result<bool, ActionFailure> {
    check_usable(item)?;
    for action in [ItemAction::Default, ItemAction::Expand] {
        if item.can(action) {
            item.act(action, "");
            return Ok(true);
        }
    }
    Ok(false)
}

/// Gives the focus to an element.
pub(crate) fn focus(item: &Item) -> Result<(), ActionFailure> {
    check_usable(item)?;
    if item.focus() {
        return Ok(());
    }
    let message = format!("{} takes no focus: use triggerEvent onClick", label(item));
    Err(ActionFailure::new(ActionCode::ActionUnsupported, message))
}

/// Calls a method of an element.
pub(crate) fn call_method(item: &Item, method: &str) -> Result<(), ActionFailure> {
    const METHODS: [(&str, ItemAction); 3] = [
        ("increment", ItemAction::Increment),
        ("decrement", ItemAction::Decrement),
        ("expand", ItemAction::Expand),
    ];
    check_usable(item)?;
    let can = |(_, action): &&(&str, ItemAction)| item.can(*action);
    let known = METHODS.iter().find(|(name, _)| *name == method);
    if let Some((_, action)) = known.filter(can) {
        item.act(*action, "");
        return Ok(());
    }
    let possible: Vec<_> = METHODS.iter().filter(can).map(|(name, _)| *name).collect();
    let possible = match possible.as_slice() {
        [] => "it has none; use triggerEvent onClick".to_owned(),
        names => format!("use {}", names.join(" or ")),
    };
    let message = format!(
        "{} has no method \"{method}\": {possible}",
        role::of_item(item)
    );
    Err(ActionFailure::new(ActionCode::MethodUnknown, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_an_event_is_accepted_in_any_spelling() {
        for event in ["onClick", "click", "onclick"] {
            assert_eq!(Trigger::parse(event), Ok(Trigger::Click));
        }
        assert_eq!(Trigger::parse("onPointerClick"), Ok(Trigger::PointerClick));
        let failure = Trigger::parse("onSubmit").unwrap_err();
        assert!(format!("{failure:?}").contains("EventUnknown"));
    }
}
