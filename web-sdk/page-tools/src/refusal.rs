//! The rules by which a target is refused before an action has any effect.

use crate::action::ActionKind;
use crate::code::ActionCode;
use crate::limits::MAX_NAME_CHARS;
use crate::text::{join_text, one_line};

/// The facts about the target of an action, immediately before it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TargetFacts {
    /// The element as the page's text describes it, such as `button "Save"`.
    pub label: String,
    /// Why the element is disabled, in the words of the page.
    pub disabled: Option<String>,
    /// Its value cannot be changed.
    pub read_only: bool,
    /// It is not shown.
    pub hidden: bool,
    /// The element that covers its centre.
    pub covered_by: Option<String>,
    /// The app marks it as private.
    pub private: bool,
    /// It is outside of the part that the app has opened to page tools.
    pub outside: bool,
    /// Its value can be set.
    pub editable: bool,
}

/// Why an action failed.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// The reason for programs.
    pub code: ActionCode,
    /// A description, and advice on what to do next.
    pub message: String,
}

impl Failure {
    /// Returns a failure.
    pub fn new(code: ActionCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }

    /// Returns the failure of a handle whose element no longer exists.
    #[must_use]
    pub fn stale(reference: &str) -> Self {
        Self::new(
            ActionCode::TargetStale,
            join_text![
                one_line(reference, 40),
                " is no longer on the page: take a page_snapshot"
            ],
        )
    }

    /// Returns whether the reason may pass by itself: a closing menu covers other elements for a
    /// short time.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        matches!(
            self.code,
            ActionCode::TargetCovered | ActionCode::TargetHidden
        )
    }

    /// Returns the failure of a handle that never existed.
    #[must_use]
    pub fn unknown(reference: &str) -> Self {
        Self::new(
            ActionCode::TargetNotFound,
            join_text![
                "\"",
                one_line(reference, 40).replace('"', "'"),
                "\" is not a handle of this page: use one that the page's text shows as ref"
            ],
        )
    }
}

/// Returns why keys must not be sent to the element that has the focus.
#[must_use]
pub fn refuse_focused(facts: &TargetFacts) -> Option<Failure> {
    let label = one_line(&facts.label, MAX_NAME_CHARS);
    let fail = |code, rest: &str| Some(Failure::new(code, join_text![label, " ", rest]));
    if facts.outside {
        return fail(
            ActionCode::TargetNotFound,
            "is outside of the part of the page that the app has opened to AI clients",
        );
    }
    if facts.private {
        return fail(
            ActionCode::TargetPrivate,
            "is private: ask the user to do this in the page",
        );
    }
    None
}

/// Returns why an action must not be performed on a target.
#[must_use]
pub fn refuse(kind: &ActionKind, facts: &TargetFacts) -> Option<Failure> {
    if let Some(failure) = refuse_focused(facts) {
        return Some(failure);
    }
    let label = one_line(&facts.label, MAX_NAME_CHARS);
    let fail = |code, rest: &str| Some(Failure::new(code, join_text![label, " ", rest]));
    if let Some(word) = facts.disabled.as_ref().filter(|_| is_use(kind)) {
        let why = match one_line(word, 40).as_str() {
            "disabled" => String::new(),
            word => join_text![" (", word, ")"],
        };
        return fail(
            ActionCode::TargetDisabled,
            &join_text!["is disabled", why, ": look in the page for what enables it"],
        );
    }
    let sets_value = *kind == ActionKind::SetValue;
    if sets_value && !facts.editable {
        return fail(ActionCode::NotEditable, advice_without_value(&label));
    }
    if sets_value && facts.read_only {
        return fail(
            ActionCode::TargetReadOnly,
            "is read-only: its value cannot be set here; if it opens a list, use triggerEvent onClick, and choose there",
        );
    }
    if facts.hidden && needs_box(kind) {
        return fail(
            ActionCode::TargetHidden,
            "is not shown: do what shows it first, such as opening the tab or the menu that it is in",
        );
    }
    if let Some(cover) = facts.covered_by.as_ref().filter(|_| uses_pointer(kind)) {
        let cover = one_line(cover, MAX_NAME_CHARS);
        return fail(
            ActionCode::TargetCovered,
            &join_text!["is covered by ", cover, ": close that first, or scroll"],
        );
    }
    None
}

/// Returns advice for an element that does not accept a value. Its label begins with its role.
fn advice_without_value(label: &str) -> &'static str {
    match label.split(' ').next() {
        Some("slider" | "spinbutton") => {
            "takes no value: use pressKey ArrowRight or ArrowLeft on it"
        }
        Some("combobox") => {
            "takes no value: open it with triggerEvent onClick, and click the option that the new page_snapshot shows"
        }
        _ => "takes no value: use triggerEvent onClick, or set the control inside it",
    }
}

/// Returns whether the action is refused for a disabled element. Looking at the element is still
/// allowed.
fn is_use(kind: &ActionKind) -> bool {
    match kind {
        ActionKind::Hover | ActionKind::Scroll => false,
        ActionKind::SetValue
        | ActionKind::TriggerEvent { .. }
        | ActionKind::SetState
        | ActionKind::SetGlobal
        | ActionKind::Navigate { .. }
        | ActionKind::CallMethod { .. }
        | ActionKind::PressKey { .. }
        | ActionKind::Drag { .. }
        | ActionKind::WaitFor { .. } => needs_box(kind),
    }
}

/// Returns whether the action needs an element that is shown.
fn needs_box(kind: &ActionKind) -> bool {
    const SHOWING: [&str; 4] = ["show", "showModal", "showPopover", "scrollIntoView"];
    match kind {
        ActionKind::CallMethod { method } => !SHOWING.contains(&method.as_str()),
        ActionKind::SetValue
        | ActionKind::TriggerEvent { .. }
        | ActionKind::SetState
        | ActionKind::SetGlobal
        | ActionKind::Navigate { .. }
        | ActionKind::PressKey { .. }
        | ActionKind::Hover
        | ActionKind::Scroll
        | ActionKind::Drag { .. }
        | ActionKind::WaitFor { .. } => true,
    }
}

/// Returns whether the action uses the mouse at the centre of the element.
fn uses_pointer(kind: &ActionKind) -> bool {
    match kind {
        ActionKind::SetValue | ActionKind::Hover | ActionKind::Drag { .. } => true,
        ActionKind::TriggerEvent { event } => {
            // The driver accepts any spelling of the name of an event.
            let event = event.to_ascii_lowercase();
            let name = event.strip_prefix("on").unwrap_or(&event);
            matches!(name, "click" | "dblclick" | "doubleclick" | "contextmenu")
        }
        ActionKind::SetState
        | ActionKind::SetGlobal
        | ActionKind::Navigate { .. }
        | ActionKind::CallMethod { .. }
        | ActionKind::PressKey { .. }
        | ActionKind::Scroll
        | ActionKind::WaitFor { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code_of(kind: &ActionKind, change: impl FnOnce(&mut TargetFacts)) -> Option<ActionCode> {
        let mut facts = TargetFacts {
            label: "button \"Save\"".into(),
            editable: true,
            ..TargetFacts::default()
        };
        change(&mut facts);
        refuse(kind, &facts).map(|failure| failure.code)
    }

    fn click() -> ActionKind {
        ActionKind::TriggerEvent {
            event: "onClick".into(),
        }
    }

    fn method(name: &str) -> ActionKind {
        ActionKind::CallMethod {
            method: name.into(),
        }
    }

    #[test]
    fn a_target_that_a_user_cannot_use_is_refused() {
        let kinds = [ActionKind::SetValue, click(), method("reset")];
        for kind in kinds {
            assert_eq!(code_of(&kind, |_| {}), None);
            let disabled = code_of(&kind, |facts| facts.disabled = Some("fieldset".into()));
            assert_eq!(disabled, Some(ActionCode::TargetDisabled));
            assert_eq!(
                code_of(&kind, |facts| facts.hidden = true),
                Some(ActionCode::TargetHidden)
            );
            assert_eq!(
                code_of(&kind, |facts| facts.private = true),
                Some(ActionCode::TargetPrivate)
            );
            assert_eq!(
                code_of(&kind, |facts| facts.outside = true),
                Some(ActionCode::TargetNotFound)
            );
        }
    }

    #[test]
    fn a_refusal_says_what_to_do_next() {
        let facts = TargetFacts {
            label: "button \"Save\"".into(),
            disabled: Some("aria-disabled".into()),
            ..TargetFacts::default()
        };
        assert_eq!(
            refuse(&click(), &facts).unwrap().message,
            "button \"Save\" is disabled (aria-disabled): look in the page for what enables it"
        );
    }

    #[test]
    fn only_values_need_an_element_that_can_be_edited() {
        let read_only = |facts: &mut TargetFacts| facts.read_only = true;
        assert_eq!(
            code_of(&ActionKind::SetValue, read_only),
            Some(ActionCode::TargetReadOnly)
        );
        assert_eq!(code_of(&click(), read_only), None);
        let fixed = |facts: &mut TargetFacts| facts.editable = false;
        assert_eq!(
            code_of(&ActionKind::SetValue, fixed),
            Some(ActionCode::NotEditable)
        );
        assert_eq!(code_of(&click(), fixed), None);
    }

    #[test]
    fn a_target_without_a_value_is_refused_with_advice() {
        let advice = |label: &str| {
            let facts = TargetFacts {
                label: label.into(),
                ..TargetFacts::default()
            };
            refuse(&ActionKind::SetValue, &facts).unwrap().message
        };
        assert!(advice("slider \"Volume\"").contains("pressKey ArrowRight"));
        assert!(advice("combobox").contains("open it"));
        assert!(advice("button \"Save\"").contains("triggerEvent onClick"));
    }

    #[test]
    fn only_pointer_actions_are_refused_for_a_covered_element() {
        let covered =
            |facts: &mut TargetFacts| facts.covered_by = Some("dialog \"Cookies\"".into());
        assert_eq!(code_of(&click(), covered), Some(ActionCode::TargetCovered));
        let event = ActionKind::TriggerEvent {
            event: "DblClick".into(),
        };
        assert_eq!(code_of(&event, covered), Some(ActionCode::TargetCovered));
        assert_eq!(
            code_of(&ActionKind::Hover, covered),
            Some(ActionCode::TargetCovered)
        );
        let event = ActionKind::TriggerEvent {
            event: "onChange".into(),
        };
        assert_eq!(code_of(&event, covered), None);
    }

    #[test]
    fn actions_that_show_an_element_accept_a_hidden_one() {
        let hidden = |facts: &mut TargetFacts| facts.hidden = true;
        assert_eq!(code_of(&method("showModal"), hidden), None);
        assert_eq!(
            code_of(&method("requestSubmit"), hidden),
            Some(ActionCode::TargetHidden)
        );
        let disabled = |facts: &mut TargetFacts| facts.disabled = Some("disabled".into());
        assert_eq!(code_of(&ActionKind::Hover, disabled), None);
    }
}
