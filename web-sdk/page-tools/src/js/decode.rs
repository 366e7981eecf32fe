//! Decodes the objects of the driver from values.

use crate::clean::clean;
use crate::code::ActionCode;
use crate::interaction::{Event, Inspection, Outcome, ReadBack};
use crate::limits::{Limits, whole};
use crate::log::messages_from_value;
use crate::node::{Category, Choice, Node, NodeValue, Rows, State};
use crate::refusal::{Failure, TargetFacts};
use crate::value::Value;

pub(super) fn limits(value: &Value) -> Limits {
    let default = Limits::default();
    let number = |name, default: f64| {
        value
            .get(name)
            .and_then(Value::as_number)
            .unwrap_or(default)
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "the limits are checked before, and at most 1 MiB"
    )]
    let count = |name, default: usize| number(name, default as f64) as usize;
    Limits {
        max_actions_per_call: count("maxActionsPerCall", default.max_actions_per_call),
        action_timeout_ms: number("actionTimeoutMs", default.action_timeout_ms),
        call_timeout_ms: number("callTimeoutMs", default.call_timeout_ms),
        max_elements: count("maxElements", default.max_elements),
        max_value_bytes: count("maxValueBytes", default.max_value_bytes),
        max_page_bytes: count("maxPageBytes", default.max_page_bytes),
    }
}

pub(super) fn event(value: &Value) -> Event {
    match value.text("kind").as_deref() {
        Some("looked") => Event::Looked(nodes(value)),
        Some("focused") => Event::Focused(value.text("ref")),
        Some("inspected") => Event::Inspected(match value.get("facts") {
            Some(Value::String(word)) if word == "stale" => Inspection::Stale,
            Some(facts @ Value::Object(_)) => Inspection::Facts(target_facts(facts)),
            _ => Inspection::Unknown,
        }),
        Some("confirmed") => Event::Confirmed(flag(value, "allowed")),
        Some("applied") => Event::Applied(result(value)),
        Some("rested") => Event::Rested,
        Some("compared") => Event::Compared(result(value).map(|()| read_back(value))),
        Some("ended") => Event::Ended(value.get("outcome").map(outcome).unwrap_or_default()),
        Some("changed") => Event::Changed,
        Some("timedOut") => Event::TimedOut,
        Some("personAsked") => Event::PersonAsked,
        _ => Event::Started,
    }
}

/// Returns the failure that an event contains, if any.
fn result(value: &Value) -> Result<(), Failure> {
    match value.text("code") {
        None => Ok(()),
        Some(code) => Err(Failure::new(
            ActionCode::from_name(&code),
            value.text("error").unwrap_or_default(),
        )),
    }
}

fn read_back(value: &Value) -> Option<ReadBack> {
    let it = value.get("readBack")?;
    Some(ReadBack {
        expected: it.text("expected").unwrap_or_default(),
        actual: it.text("actual").unwrap_or_default(),
        matches: flag(it, "matches"),
    })
}

fn nodes(value: &Value) -> Vec<Node> {
    let root = value.get("root").map(node).unwrap_or_default();
    clean(&root, &Limits::default())
}

fn flag(value: &Value, name: &str) -> bool {
    value.get(name).is_some_and(Value::is_true)
}

fn target_facts(value: &Value) -> TargetFacts {
    TargetFacts {
        label: value.text("label").unwrap_or_default(),
        disabled: value.text("disabled"),
        read_only: flag(value, "readOnly"),
        hidden: flag(value, "hidden"),
        covered_by: value.text("coveredBy"),
        private: flag(value, "private"),
        outside: flag(value, "outside"),
        editable: flag(value, "editable"),
    }
}

fn outcome(value: &Value) -> Outcome {
    Outcome {
        changed: value.texts("changed"),
        navigated: value.text("navigated"),
        dialog: value.text("dialog"),
        messages: messages_from_value(value),
        warnings: value.texts("warnings"),
    }
}

/// Decodes a node with its children.
pub(super) fn node(value: &Value) -> Node {
    let Value::Object(members) = value else {
        return Node::default();
    };
    let mut node = Node::default();
    for (name, member) in members {
        let text = || member.as_str().map(str::to_owned);
        match name.as_str() {
            "role" => node.role = text().unwrap_or_default(),
            "name" => node.name = text(),
            "ref" => node.reference = text(),
            "isOnlyText" => node.is_only_text = member.is_true(),
            "text" => node.text = text(),
            "value" => node.value = node_value(member),
            "options" => node.options = items(member).iter().map(choice).collect(),
            "states" => {
                let names = items(member).iter().filter_map(Value::as_str);
                node.states = names.filter_map(State::from_name).collect();
            }
            "level" => node.level = member.as_number().map(whole),
            "error" => node.error = text(),
            "description" => node.description = text(),
            "rows" => node.rows = rows(member),
            "events" => node.events = value.texts("events"),
            "type" => node.kind = text(),
            "category" => node.category = member.as_str().and_then(Category::from_name),
            "data" => node.data = text(),
            "id" => node.id = text(),
            "testId" => node.test_id = text(),
            "children" => node.children = items(member).iter().map(self::node).collect(),
            _ => {}
        }
    }
    node
}

fn items(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_default()
}

fn node_value(value: &Value) -> Option<NodeValue> {
    match value {
        Value::String(text) => Some(NodeValue::One(text.clone())),
        Value::Array(items) => {
            let texts = items
                .iter()
                .filter_map(|item| item.as_str().map(str::to_owned));
            Some(NodeValue::Several(texts.collect()))
        }
        _ => None,
    }
}

fn choice(value: &Value) -> Choice {
    Choice {
        value: value.text("value").unwrap_or_default(),
        label: value.text("label").unwrap_or_default(),
    }
}

fn rows(value: &Value) -> Option<Rows> {
    let count = |name| value.get(name).and_then(Value::as_number).map(whole);
    Some(Rows {
        shown: count("shown")?,
        total: count("total")?,
    })
}
