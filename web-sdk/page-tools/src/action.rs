//! The list of actions of a call, parsed before the first of them has an effect.
//!
//! # A new type of action
//!
//! First see whether an event of `triggerEvent` is enough: those that are done as by a mouse are in
//! `web-sdk/js/page-tools/dom/events.ts`. The steps for a new type:
//!
//! 1. The rules: [`ActionKind`], its row in `action_types!`, a test in `action/tests.rs`. The
//!    compiler then finds the matches to extend, here and in [`refusal`](crate::refusal).
//! 2. Web pages: the type in `web-sdk/js/page-tools/actions.ts`. `tsc` then finds the two switches
//!    in `web-sdk/js/page-tools/dom/`: `action-effects.ts` protects private elements only if it
//!    lists everything that the action affects, and `apply.ts` performs the action.
//! 3. The schema for AI clients: `web-sdk/js/page-tools/tool-definitions.ts`, and its copy
//!    `web-sdk/native/src/page/tools.json`.
//! 4. The other drivers: `web-sdk/native/slint/src/driver.rs` and
//!    `web-sdk/lowdefy/src/driver/driver.ts` perform it and list it in `POSSIBLE`, or reject it with
//!    `ActionUnsupported`.
//! 5. Tests of all drivers: a row in `e2e/src/action_rules.rs`. Its name is an exception in
//!    `e2e/tests/journeys/lowdefy.rs` and `e2e/tests/journeys/native_page_tools.rs` if those drivers
//!    reject it.
//! 6. Tests of web pages, in `web-sdk/tests/sdk/page/`: the effect in `page-actions.js`; a row in
//!    `ACTIONS` of `page-effects.js` (private elements) and of `person-only.js`.
//! 7. Guides: `docs/page-tools.md` (the tables of actions and of sessions), `docs/native.md`,
//!    `docs/lowdefy.md`.

use crate::limits::{DRAG_STEPS, Limits, MAX_PAGE_ID_CHARS, MAX_WAIT_MS};
use crate::text::{char_count, decimal, join_text};
use crate::value::Value;

/// One action, with the parts that the rules need. The driver has the complete action.
#[derive(Debug, Clone, PartialEq)]
pub struct Action {
    /// The kind of action.
    pub kind: ActionKind,
    /// The element that the action applies to.
    pub target: Option<Target>,
}

/// The kinds of actions.
#[derive(Debug, Clone, PartialEq)]
pub enum ActionKind {
    /// Sets the value of a control.
    SetValue,
    /// Triggers an event of the app.
    TriggerEvent {
        /// For example `onClick`.
        event: String,
    },
    /// Sets state of the app.
    SetState,
    /// Sets global state of the app.
    SetGlobal,
    /// Opens a page of the app.
    Navigate {
        /// The id of the page.
        page_id: String,
    },
    /// Calls a method of an element.
    CallMethod {
        /// For example `showModal`.
        method: String,
    },
    /// Presses a key.
    PressKey {
        /// A `KeyboardEvent.key`.
        key: String,
    },
    /// Moves the pointer over an element.
    Hover,
    /// Scrolls an element, or the page.
    Scroll,
    /// Drags an element to another.
    Drag {
        /// The element where it is released.
        to: Target,
    },
    /// Waits until a text appears or disappears, or for a given time.
    WaitFor {
        /// The text that must appear.
        text: Option<String>,
        /// The text that must disappear.
        gone: Option<String>,
        /// Maximum time to wait, in milliseconds.
        ms: f64,
    },
}

/// Gives each kind of action its `type` and the function that parses its fields. Errors list the
/// types in this order.
macro_rules! action_types {
    (
        $first_kind:ident = $first_name:literal: $parse_first:expr,
        $($kind:ident = $name:literal: $parse:expr,)+
    ) => {
        const TYPES: &str = concat!($first_name $(, ", ", $name)+);

        impl ActionKind {
            /// Returns the `type` of the action. Types are in camelCase, as the fields of an action
            /// are; only names of tools are in snake_case.
            #[must_use]
            pub fn name(&self) -> &'static str {
                match self {
                    Self::$first_kind { .. } => $first_name,
                    $(Self::$kind { .. } => $name,)+
                }
            }
        }

        fn parse_kind(action: &Fields<'_>) -> Result<ActionKind, String> {
            match action.name {
                $first_name => ($parse_first)(action),
                $($name => ($parse)(action),)+
                name => Err(join_text![
                    "\"",
                    name,
                    "\" is not a type of actions: use one of ",
                    TYPES
                ]),
            }
        }
    };
}

action_types! {
    SetValue = "setValue": parse_set_value,
    TriggerEvent = "triggerEvent": parse_trigger_event,
    SetState = "setState": parse_set_state,
    SetGlobal = "setGlobal": parse_set_global,
    Navigate = "navigate": parse_navigate,
    CallMethod = "callMethod": parse_call_method,
    PressKey = "pressKey": parse_press_key,
    Hover = "hover": |_: &_| Ok(ActionKind::Hover),
    Scroll = "scroll": parse_scroll,
    Drag = "drag": parse_drag,
    WaitFor = "waitFor": parse_wait,
}

impl ActionKind {
    /// Returns the detail of the action that a log should contain.
    #[must_use]
    pub fn detail(&self) -> Option<&str> {
        match self {
            Self::TriggerEvent { event } => Some(event),
            Self::CallMethod { method } => Some(method),
            Self::PressKey { key } if key == " " => Some("Space"),
            Self::PressKey { key } => Some(key),
            Self::Navigate { page_id } => Some(page_id),
            Self::SetValue
            | Self::SetState
            | Self::SetGlobal
            | Self::Hover
            | Self::Scroll
            | Self::Drag { .. }
            | Self::WaitFor { .. } => None,
        }
    }
}

/// The element that an action applies to.
#[derive(Debug, Clone, PartialEq)]
pub enum Target {
    /// The element with a handle, or with the app's id.
    Reference(String),
    /// The element that has these properties.
    Find(Find),
}

/// The properties that an element must have. It must have all of them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Find {
    /// Its role.
    pub role: Option<String>,
    /// A part of its name, in any case.
    pub name: Option<String>,
    /// A part of its text or value, in any case.
    pub text: Option<String>,
    /// The app's own id.
    pub id: Option<String>,
    /// The app's own id for tests.
    pub test_id: Option<String>,
}

impl Find {
    /// Returns the properties that the value contains.
    #[must_use]
    pub fn from_value(value: &Value) -> Self {
        Self {
            role: value.text("role"),
            name: value.text("name"),
            text: value.text("text"),
            id: value.text("id"),
            test_id: value.text("testId"),
        }
    }

    /// Returns whether no property is set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Why a list of actions was rejected as a whole.
#[derive(Debug, Clone, PartialEq)]
pub enum InvalidActions {
    /// There are too many actions.
    TooMany {
        /// The number of actions.
        count: usize,
        /// The maximum number of actions.
        max: usize,
    },
    /// An item is not an action, or the value is not a list.
    Malformed {
        /// A JSON pointer to the invalid value.
        pointer: String,
        /// A description of what is missing or wrong.
        problem: String,
    },
}

impl InvalidActions {
    /// Returns the `reason` that programs read.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::TooMany { .. } => "TooManyActions",
            Self::Malformed { .. } => "ActionMalformed",
        }
    }

    /// Returns a description of the error, which says that no action ran.
    #[must_use]
    pub fn message(&self) -> String {
        match self {
            Self::TooMany { count, max } => join_text![
                "/actions: there are ",
                decimal(*count),
                " actions, and a call may have ",
                decimal(*max),
                ": use several calls. Nothing was done"
            ],
            Self::Malformed { pointer, problem } => {
                join_text![pointer, ": ", problem, ". Nothing was done"]
            }
        }
    }
}

/// Parses the argument `actions`.
///
/// # Errors
///
/// Returns an error if an action is malformed or there are too many. No action has run then.
pub fn parse(actions: &Value, limits: &Limits) -> Result<Vec<Action>, InvalidActions> {
    let malformed = |problem: &str| InvalidActions::Malformed {
        pointer: "/actions".into(),
        problem: problem.into(),
    };
    let items = actions
        .as_array()
        .ok_or_else(|| malformed("a list of actions is needed"))?;
    if items.is_empty() {
        return Err(malformed("at least one action is needed"));
    }
    if items.len() > limits.max_actions_per_call {
        return Err(InvalidActions::TooMany {
            count: items.len(),
            max: limits.max_actions_per_call,
        });
    }
    let parsed = items.iter().enumerate().map(|(index, item)| {
        parse_action(item).map_err(|problem| InvalidActions::Malformed {
            pointer: join_text!["/actions/", decimal(index)],
            problem,
        })
    });
    parsed.collect()
}

fn parse_action(item: &Value) -> Result<Action, String> {
    if !matches!(item, Value::Object(_)) {
        return Err("an action is an object with a type".into());
    }
    let name = item
        .text("type")
        .ok_or_else(|| join_text!["type is needed: one of ", TYPES])?;
    let kind = parse_kind(&Fields { name: &name, item })?;
    let target = parse_target(item)?;
    if target.is_none() && needs_target(&kind) {
        return Err(join_text![
            name,
            " needs a target: ref, or find with role, name, text or testId"
        ]);
    }
    Ok(Action { kind, target })
}

fn parse_set_value(action: &Fields<'_>) -> Result<ActionKind, String> {
    action.require("value")?;
    Ok(ActionKind::SetValue)
}

fn parse_trigger_event(action: &Fields<'_>) -> Result<ActionKind, String> {
    let event = action.string("event")?;
    Ok(ActionKind::TriggerEvent { event })
}

fn parse_set_state(action: &Fields<'_>) -> Result<ActionKind, String> {
    if has(action.item, "key") {
        action.string("key")?;
        action.require("value")?;
        return Ok(ActionKind::SetState);
    }
    match action.item.get("values") {
        Some(Value::Object(_)) => Ok(ActionKind::SetState),
        _ => Err("setState needs key and value, or values".into()),
    }
}

fn parse_set_global(action: &Fields<'_>) -> Result<ActionKind, String> {
    action.string("key")?;
    action.require("value")?;
    Ok(ActionKind::SetGlobal)
}

fn parse_navigate(action: &Fields<'_>) -> Result<ActionKind, String> {
    let page_id = parse_page_id(action.item)?;
    Ok(ActionKind::Navigate { page_id })
}

fn parse_call_method(action: &Fields<'_>) -> Result<ActionKind, String> {
    let method = action.string("method")?;
    Ok(ActionKind::CallMethod { method })
}

fn parse_press_key(action: &Fields<'_>) -> Result<ActionKind, String> {
    let key = action.string("key")?;
    check_modifiers(action.item)?;
    Ok(ActionKind::PressKey { key })
}

fn parse_scroll(action: &Fields<'_>) -> Result<ActionKind, String> {
    action.optional_number("deltaX")?;
    action.optional_number("deltaY")?;
    Ok(ActionKind::Scroll)
}

fn parse_drag(action: &Fields<'_>) -> Result<ActionKind, String> {
    let steps = action.optional_number("steps")?;
    let [least, most] = DRAG_STEPS;
    if steps.is_some_and(|steps| !(f64::from(least)..=f64::from(most)).contains(&steps)) {
        return Err(join_text![
            "steps of drag must be ",
            decimal(least as usize),
            " to ",
            decimal(most as usize)
        ]);
    }
    let to = action.item.get("to").map(parse_target).transpose()?;
    let to = to
        .flatten()
        .ok_or("drag needs to: {ref} or {find}, where it is released")?;
    Ok(ActionKind::Drag { to })
}

/// Parses the page that `navigate` opens.
///
/// # Errors
///
/// Returns what is wrong.
pub fn parse_page_id(arguments: &Value) -> Result<String, String> {
    let page_id = arguments
        .text("pageId")
        .filter(|page_id| !page_id.is_empty())
        .ok_or("navigate needs pageId, a text: get_pages lists them")?;
    if char_count(&page_id) > MAX_PAGE_ID_CHARS {
        return Err(join_text![
            "pageId has more than ",
            decimal(MAX_PAGE_ID_CHARS),
            " characters"
        ]);
    }
    match arguments.get("input") {
        None | Some(Value::Object(_)) => Ok(page_id),
        Some(_) => Err("input must be an object".into()),
    }
}

fn parse_wait(action: &Fields<'_>) -> Result<ActionKind, String> {
    let text = action.optional_string("text")?;
    let gone = action.optional_string("gone")?;
    let ms = action.optional_number("ms")?;
    if text.is_none() && gone.is_none() && ms.is_none() {
        return Err("waitFor needs text, gone or ms".into());
    }
    if ms.is_some_and(|ms| !(0.0..=f64::from(MAX_WAIT_MS)).contains(&ms)) {
        return Err(join_text![
            "ms of waitFor must be 0 to ",
            decimal(MAX_WAIT_MS as usize)
        ]);
    }
    Ok(ActionKind::WaitFor {
        text,
        gone,
        ms: ms.unwrap_or(f64::from(MAX_WAIT_MS)),
    })
}

fn needs_target(kind: &ActionKind) -> bool {
    match kind {
        ActionKind::SetValue
        | ActionKind::TriggerEvent { .. }
        | ActionKind::CallMethod { .. }
        | ActionKind::Hover
        | ActionKind::Drag { .. } => true,
        ActionKind::SetState
        | ActionKind::SetGlobal
        | ActionKind::Navigate { .. }
        | ActionKind::PressKey { .. }
        | ActionKind::Scroll
        | ActionKind::WaitFor { .. } => false,
    }
}

fn parse_target(item: &Value) -> Result<Option<Target>, String> {
    for name in ["ref", "blockId"] {
        match item.get(name) {
            None => {}
            Some(Value::String(reference)) if !reference.is_empty() => {
                return Ok(Some(Target::Reference(reference.clone())));
            }
            Some(_) => {
                return Err(join_text![
                    name,
                    " must be a handle from the page's text, such as \"e12\""
                ]);
            }
        }
    }
    match item.get("find") {
        None => Ok(None),
        Some(find @ Value::Object(_)) => {
            let find = Find::from_value(find);
            if find.is_empty() {
                return Err("find needs role, name, text or testId".into());
            }
            Ok(Some(Target::Find(find)))
        }
        Some(_) => Err("find must be an object with role, name, text or testId".into()),
    }
}

fn check_modifiers(item: &Value) -> Result<(), String> {
    let Some(modifiers) = item.get("modifiers") else {
        return Ok(());
    };
    let known = ["Alt", "Control", "Meta", "Shift"];
    let are_known = modifiers.as_array().is_some_and(|items| {
        items
            .iter()
            .all(|item| item.as_str().is_some_and(|name| known.contains(&name)))
    });
    if are_known {
        Ok(())
    } else {
        Err("modifiers must be a list of Alt, Control, Meta, Shift".into())
    }
}

fn has(item: &Value, name: &str) -> bool {
    matches!(item, Value::Object(members) if members.iter().any(|(member, _)| member == name))
}

/// The fields of an action of a type.
struct Fields<'a> {
    name: &'a str,
    item: &'a Value,
}

impl Fields<'_> {
    fn require(&self, field: &str) -> Result<(), String> {
        if has(self.item, field) {
            Ok(())
        } else {
            Err(join_text![self.name, " needs ", field])
        }
    }

    fn string(&self, field: &str) -> Result<String, String> {
        self.optional_string(field)?
            .filter(|text| !text.is_empty())
            .ok_or_else(|| join_text![self.name, " needs ", field, ", a text"])
    }

    fn optional_string(&self, field: &str) -> Result<Option<String>, String> {
        match self.item.get(field) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(join_text![field, " of ", self.name, " must be a text"]),
        }
    }

    fn optional_number(&self, field: &str) -> Result<Option<f64>, String> {
        match self.item.get(field) {
            None => Ok(None),
            Some(Value::Number(number)) if number.is_finite() => Ok(Some(*number)),
            Some(_) => Err(join_text![field, " of ", self.name, " must be a number"]),
        }
    }
}

#[cfg(test)]
mod tests;
