//! Actions that a window refuses, or cannot do, have no effect: the rules of page tools.

use e2e::ActionRule;
use serde_json::json;

use crate::program::{Program, trigger};

#[tokio::test]
async fn each_rule_of_all_user_interfaces_holds() {
    let program = Program::start().await;
    for rule in ActionRule::all() {
        let answer = program.call("interact", rule.arguments.clone()).await;
        rule.check(&answer, &[]);
    }
    let count = ActionRule::all().len();
    println!("figures: {count} rules of all user interfaces hold in a window of Slint");
}

#[tokio::test]
async fn each_refusal_does_nothing() {
    let program = Program::start().await;
    let off = program.handle("button", "Off").await;
    let plus = program.handle("button", "Count up").await;
    let slider = program.handle("slider", "Volume").await;
    let loud = program.handle("checkbox", "Loud").await;
    let set =
        |reference: &str, value| json!({ "type": "setValue", "ref": reference, "value": value });
    let call = |reference: &str, method: &str| json!({ "type": "callMethod", "ref": reference, "method": method });
    let twins = json!({ "type": "triggerEvent", "find": { "name": "Row" }, "event": "onClick" });
    let rows = [
        (trigger(&off, "onClick"), "TargetDisabled"),
        (trigger(&off, "onPointerClick"), "TargetDisabled"),
        (set(&plus, json!("x")), "NotEditable"),
        (set(&loud, json!("perhaps")), "OptionNotFound"),
        (set(&slider, json!(1000)), "ValueRefused"),
        (trigger(&plus, "onSubmit"), "EventUnknown"),
        (call(&plus, "increment"), "MethodUnknown"),
        (call(&slider, "expand"), "MethodUnknown"),
        (
            json!({ "type": "pressKey", "key": "Nothing" }),
            "ActionFailed",
        ),
        (
            json!({ "type": "setState", "key": "a", "value": 1 }),
            "ActionUnsupported",
        ),
        (
            json!({ "type": "setGlobal", "key": "a", "value": 1 }),
            "ActionUnsupported",
        ),
        (
            json!({ "type": "navigate", "pageId": "x" }),
            "ActionUnsupported",
        ),
        (trigger("e0", "onClick"), "TargetNotFound"),
        (twins, "TargetAmbiguous"),
    ];
    for (action, code) in rows {
        let log = program.log(json!([action])).await;
        assert!(
            log[0].contains(&format!(" failed {code}: ")),
            "{code}: {log:?}"
        );
    }
    let snapshot = program.snapshot().await;
    assert!(snapshot.contains("Count: 0"), "{snapshot}");
}

/// The list of choices gets the clicks, and closes.
#[tokio::test]
async fn what_is_covered_is_not_clicked() {
    let program = Program::start().await;
    let find = json!({ "role": "combobox" });
    let open = json!({ "type": "triggerEvent", "find": find, "event": "onClick" });
    program.act(open).await;
    let second = program.handle("button", "Open second").await;
    let log = program.log(json!([trigger(&second, "onPointerClick")]));
    let log = log.await;
    let failure = "failed TargetCovered: button \"Open second\" is covered by option";
    assert!(log[0].contains(failure), "{log:?}");
    program
        .act(json!({ "type": "pressKey", "key": "Escape" }))
        .await;
    let snapshot = program.snapshot().await;
    assert!(!snapshot.contains("option \"Water\""), "{snapshot}");
    assert_eq!(program.sessions().await, ["main"]);
}
