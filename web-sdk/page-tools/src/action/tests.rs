use super::*;
use crate::value::ObjectBuilder;

fn action(name: &str) -> ObjectBuilder {
    ObjectBuilder::default().with("type", name)
}

fn parse_one(action: ObjectBuilder) -> Result<Action, String> {
    parse(&Value::Array(vec![action.build()]), &Limits::default())
        .map(|mut actions| actions.remove(0))
        .map_err(|error| error.message())
}

fn error_of(action: ObjectBuilder) -> String {
    parse_one(action).unwrap_err()
}

#[test]
fn each_type_has_its_fields() {
    let target = |name| action(name).with("ref", "e1");
    let find = ObjectBuilder::default().with("role", "button").build();
    for valid in [
        target("setValue").with("value", Value::Null),
        target("triggerEvent").with("event", "onClick"),
        action("triggerEvent")
            .with("event", "onClick")
            .with("find", find),
        action("triggerEvent")
            .with("event", "onClick")
            .with("blockId", "save"),
        action("setState").with("key", "a").with("value", 1.0),
        action("setState").with("values", ObjectBuilder::default().build()),
        action("setGlobal").with("key", "a").with("value", 1.0),
        action("navigate").with("pageId", "/orders"),
        target("callMethod").with("method", "showModal"),
        action("pressKey").with("key", "Enter"),
        target("hover"),
        action("scroll").with("deltaY", 100.0),
        target("drag").with("to", ObjectBuilder::default().with("ref", "e2").build()),
        action("waitFor").with("text", "Saved"),
    ] {
        parse_one(valid).unwrap();
    }
}

#[test]
fn an_error_names_the_action_and_what_it_needs() {
    assert_eq!(
        error_of(action("setValue").with("ref", "e1")),
        "/actions/0: setValue needs value. Nothing was done"
    );
    for (invalid, part) in [
        (
            action("click"),
            "\"click\" is not a type of actions: use one of setValue, ",
        ),
        (ObjectBuilder::default(), "type is needed"),
        (
            action("setValue").with("value", "x"),
            "setValue needs a target: ref, or find",
        ),
        (action("hover").with("ref", 3.0), "ref must be a handle"),
        (
            action("hover").with("find", ObjectBuilder::default().build()),
            "find needs role",
        ),
        (
            action("hover").with("find", "Save"),
            "find must be an object",
        ),
        (
            action("triggerEvent").with("ref", "e1"),
            "triggerEvent needs event",
        ),
        (action("setState").with("key", "a"), "setState needs value"),
        (
            action("setState"),
            "setState needs key and value, or values",
        ),
        (
            action("navigate").with("pageId", "x".repeat(2049)),
            "more than 2048 characters",
        ),
        (
            action("navigate").with("pageId", "x").with("input", 1.0),
            "input must be an object",
        ),
        (
            action("pressKey")
                .with("key", "a")
                .with("modifiers", vec!["Hyper"]),
            "modifiers must be",
        ),
        (
            action("scroll").with("deltaY", "far"),
            "deltaY of scroll must be a number",
        ),
        (action("drag").with("ref", "e1"), "drag needs to"),
        (
            action("drag")
                .with("ref", "e1")
                .with("to", ObjectBuilder::default().with("ref", "e2").build())
                .with("steps", 51.0),
            "steps of drag must be 2 to 50",
        ),
        (action("waitFor"), "waitFor needs text, gone or ms"),
        (action("waitFor").with("ms", 10_001.0), "must be 0 to 10000"),
    ] {
        let error = error_of(invalid);
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn one_malformed_action_rejects_the_list() {
    let list = vec![action("scroll").build(), Value::from("scroll")];
    let error = parse(&Value::Array(list), &Limits::default()).unwrap_err();
    assert_eq!(error.reason(), "ActionMalformed");
    assert!(
        error
            .message()
            .starts_with("/actions/1: an action is an object")
    );
}

#[test]
fn a_call_has_one_to_a_hundred_actions() {
    let list = |count| Value::Array(vec![action("scroll").build(); count]);
    let limits = Limits::default();
    assert_eq!(parse(&list(100), &limits).unwrap().len(), 100);
    let error = parse(&list(101), &limits).unwrap_err();
    assert_eq!(error.reason(), "TooManyActions");
    assert!(
        error
            .message()
            .contains("there are 101 actions, and a call may have 100")
    );
    for none in [list(0), Value::Null, Value::from("scroll")] {
        assert_eq!(
            parse(&none, &limits).unwrap_err().reason(),
            "ActionMalformed"
        );
    }
}
