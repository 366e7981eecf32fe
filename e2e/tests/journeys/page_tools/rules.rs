//! The rules of actions, one row each: the actions, and the log and the page after them.

use e2e::ActionRule;
use serde_json::{Value, json};

use super::{ToolsPage, ref_of};

/// A page whose listeners are counted, so that a refusal can be shown to dispatch nothing.
const PAGE: &str = "
document.body.innerHTML = `<main>
  <label>Name <input id=name></label>
  <label>Fixed <input id=fixed value=f readonly></label>
  <label>Upper <input id=upper></label>
  <label>Secret <input id=secret type=password value=hunter2></label>
  <fieldset disabled><label>In fieldset <input id=inside></label></fieldset>
  <button id=save>Save</button> <button id=off disabled>Off</button>
  <button id=aria aria-disabled=true>Aria off</button>
  <button id=twin1>Twin</button> <button id=twin2>Twin</button>
  <button id=gone>Gone</button> <button id=throw>Throw</button> <button id=slow>Slow</button>
  <div inert><button id=inert>Inert</button></div>
  <div data-mcp-private><button id=private>Private 42</button></div>
  <div style='position:relative;width:200px'><button id=below>Below</button>
    <div id=cover role=img aria-label=Cover style='position:absolute;inset:0;background:white'></div></div>
  <label>Colour <select id=colour><option>red<option>green</select></label>
  <label><input type=checkbox id=agree> Agree</label>
  <dialog id=dialog aria-label=Help><p>Text</p></dialog>
  <div data-mcp-private><input id=pin aria-label=Pin value=7788></div>
  <button id=focuser>Focus the pin</button>
  <form id=form><label>Code <input id=code></label><div data-mcp-private><button id=send>Send 42</button></div></form>
  <button id=passive style='pointer-events:none'>Passive</button>
  <button id=heard style='position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)'>Skip</button>
  <button id=fleeting>Fleeting</button>
  <a id=mail href='mailto:ada@example.com'>Mail</a> <a id=tab target=_blank href='/pages/without-tools.html'>Tab</a>
  <label>Day <input id=day type=date></label> <label>Count <input id=count type=number></label>
  <div role=slider id=level tabindex=0 aria-label=Level aria-valuenow=1></div>
  <div id=editor contenteditable aria-label=Editor><p>Open</p><p data-mcp-private>7788</p></div>
  <button>Send</button> <button disabled>Send</button>
  <button id=opener>Open the late menu</button>
  <p id=out></p></main>`;
window.counts = {};
for (const type of ['click', 'input', 'change', 'keydown', 'pointerdown', 'mousedown', 'dblclick', 'custom'])
  document.addEventListener(type, (event) => { counts[event.target.id || 'page'] = (counts[event.target.id || 'page'] ?? 0) + 1; }, true);
const $ = (id) => document.getElementById(id);
$('upper').addEventListener('input', () => { $('upper').value = $('upper').value.toUpperCase(); });
$('save').addEventListener('click', () => { $('out').textContent = 'Saved ' + $('name').value; });
$('focuser').addEventListener('click', () => $('pin').focus());
$('form').addEventListener('submit', (event) => { event.preventDefault(); $('out').textContent = 'Sent'; });
$('heard').addEventListener('click', () => { $('out').textContent = 'Skipped'; });
$('fleeting').addEventListener('pointerdown', () => $('fleeting').remove());
$('gone').addEventListener('click', () => $('gone').remove());
$('throw').addEventListener('click', () => { throw new Error('broken handler'); });
$('opener').addEventListener('click', () => setTimeout(() => { // sleep: the menu comes when the page is at rest
  $('opener').insertAdjacentHTML('afterend', '<div id=menu style=cursor:pointer><span>Late item</span></div>');
  $('menu').addEventListener('click', () => { $('out').textContent = 'Late item done'; });
}, 500));
$('slow').addEventListener('click', async () => { await fetch('/never', { signal: AbortSignal.timeout(300) }).catch(() => {}); $('out').textContent = 'Slow done'; });
";

/// Actions, the code of each (null: it succeeded), and a part of the text.
type Row = (&'static str, Value, Value, &'static str);

fn click(id: &str) -> Value {
    json!({ "type": "triggerEvent", "find": { "name": id }, "event": "onClick" })
}

fn set(name: &str, value: Value) -> Value {
    json!({ "type": "setValue", "find": { "name": name }, "value": value })
}

#[rustfmt::skip]
fn rows() -> Vec<Row> {
    let find = |name: &str| json!({ "name": name });
    vec![
        ("in order", json!([set("Name", json!("Ada")), click("Save")]), json!([null, null]), "Saved Ada"),
        ("a failure stops the list", json!([click("Off"), click("Save"), click("Save")]), json!(["TargetDisabled"]), "stopped because action 1 failed, 2 actions skipped: nothing after it was done"),
        ("disabled", json!([click("Off")]), json!(["TargetDisabled"]), "button \"Off\" is disabled"),
        ("aria-disabled", json!([click("Aria off")]), json!(["TargetDisabled"]), "(aria-disabled)"),
        ("in a disabled fieldset", json!([set("In fieldset", json!("x"))]), json!(["TargetDisabled"]), "(fieldset)"),
        ("inert", json!([click("Inert")]), json!(["TargetNotFound"]), "nothing that can be acted on"),
        ("read-only", json!([set("Fixed", json!("x"))]), json!(["TargetReadOnly"]), "read-only"),
        ("private", json!([click("Private 42")]), json!(["TargetNotFound"]), "nothing that can be acted on"),
        ("covered", json!([click("Below")]), json!(["TargetCovered"]), "covered by img \"Cover\""),
        ("ambiguous", json!([click("Twin")]), json!(["TargetAmbiguous"]), "2 elements have name \"Twin\""),
        ("not found", json!([click("Nothing")]), json!(["TargetNotFound"]), "take a page_snapshot"),
        ("no such handle", json!([{ "type": "hover", "ref": "e99999" }]), json!(["TargetNotFound"]), "is not a handle"),
        ("rewritten value", json!([set("Upper", json!("abc"))]), json!(["ValueRefused"]), "\"abc\" was set, and the page made it \"ABC\""),
        ("not editable", json!([set("Save", json!("x"))]), json!(["NotEditable"]), "takes no value"),
        ("no such option", json!([set("Colour", json!("blue"))]), json!(["OptionNotFound"]), "\"red\", \"green\""),
        ("option by label", json!([set("Colour", json!("green"))]), json!([null]), "combobox \"Colour\""),
        ("check", json!([set("Agree", json!(true))]), json!([null]), "[checked]"),
        ("check what is checked", json!([set("Agree", json!(true))]), json!([null]), "[checked]"),
        ("uncheck", json!([set("Agree", json!(false))]), json!([null]), "checkbox \"Agree\""),
        ("password", json!([set("Secret", json!("new"))]), json!([null]), "textbox \"Secret\""),
        ("event that is none", json!([{ "type": "triggerEvent", "find": find("Save"), "event": "on Click!" }]), json!(["EventUnknown"]), "triggerEvent"),
        ("own event", json!([{ "type": "triggerEvent", "find": find("Save"), "event": "custom" }]), json!([null]), ""),
        ("double click", json!([{ "type": "triggerEvent", "find": find("Save"), "event": "onDoubleClick" }]), json!([null]), "Saved"),
        ("method that is none", json!([{ "type": "callMethod", "find": find("Save"), "method": "remove" }]), json!(["MethodUnknown"]), ""),
        ("no router", json!([{ "type": "setState", "key": "a", "value": 1 }]), json!(["ActionUnsupported"]), ""),
        ("no global state", json!([{ "type": "setGlobal", "key": "a", "value": 1 }]), json!(["ActionUnsupported"]), ""),
        ("key", json!([{ "type": "pressKey", "find": find("Name"), "key": "x" }]), json!([null]), "x\""),
        ("key without a target", json!([{ "type": "pressKey", "key": "y" }]), json!([null]), "xy\""),
        ("Tab", json!([{ "type": "pressKey", "key": "Tab" }]), json!([null]), "[focused]"),
        ("hover", json!([{ "type": "hover", "find": find("Save") }]), json!([null]), "hover"),
        ("scroll", json!([{ "type": "scroll", "deltaY": 10 }]), json!([null]), "scroll"),
        ("error of the page", json!([click("Throw")]), json!([null]), "uncaught: "),
        ("request of the action", json!([click("Slow")]), json!([null]), "Slow done"),
        ("wait for a text", json!([{ "type": "waitFor", "text": "Slow done", "ms": 100 }]), json!([null]), ""),
        ("wait in vain", json!([{ "type": "waitFor", "text": "Never there", "ms": 60 }]), json!(["ActionTimeout"]), "\"Never there\" is not on the page"),
        ("wait until gone", json!([{ "type": "waitFor", "gone": "Never there", "ms": 60 }]), json!([null]), ""),
        ("wait", json!([{ "type": "waitFor", "ms": 30 }]), json!([null]), ""),
        ("removed meanwhile", json!([click("Gone"), click("Gone")]), json!([null, "TargetNotFound"]), ""),
        ("key when a private field has the focus", json!([click("Focus the pin"), { "type": "pressKey", "key": "9" }]), json!([null, "TargetPrivate"]), "textbox is private"),
        ("Enter that would press a private button", json!([{ "type": "pressKey", "find": find("Code"), "key": "Enter" }]), json!(["TargetPrivate"]), "(button) is private"),
        ("takes no clicks", json!([click("Passive")]), json!(["TargetDisabled"]), "(pointer-events: none)"),
        ("only for screen readers", json!([click("Skip")]), json!([null]), "Skipped"),
        ("gone before the click", json!([click("Fleeting")]), json!([null]), "before it was clicked"),
        ("link of another program", json!([click("Mail")]), json!([null]), "mailto:ada@example.com is opened by a program of the user's"),
        ("link of a new tab", json!([click("Tab")]), json!([null]), "may not have opened /pages/without-tools.html"),
        ("date in another format", json!([set("Day", json!("27.11.2026"))]), json!(["ValueRefused"]), "YYYY-MM-DD"),
        ("number with a comma", json!([set("Count", json!("1,5"))]), json!(["ValueRefused"]), "1234.5"),
        ("key that is none", json!([{ "type": "pressKey", "key": "Foo" }]), json!(["ActionFailed"]), "is not a key"),
        ("key with a modifier in its name", json!([{ "type": "pressKey", "find": find("Name"), "key": "Control+a" }]), json!([null]), ""),
        ("event by another writing", json!([{ "type": "triggerEvent", "find": find("Below"), "event": "click" }]), json!(["TargetCovered"]), "Cover"),
        ("slider without a field", json!([set("Level", json!(5))]), json!(["NotEditable"]), "pressKey ArrowRight"),
        ("editor with something private", json!([set("Editor", json!("x"))]), json!(["TargetPrivate"]), "is private"),
        ("enabled one of two", json!([click("Send")]), json!([null]), ""),
        ("comes when the page was at rest", json!([click("Open the late menu"), { "type": "triggerEvent", "find": { "text": "Late item" }, "event": "onClick" }]), json!([null, null]), "Late item done"),
        ("a hundred actions", json!(vec![json!({ "type": "scroll", "deltaY": 1 }); 100]), json!(vec![Value::Null; 100]), "100 scroll"),
    ]
}

/// The rules that also hold for windows.
#[tokio::test]
async fn each_rule_of_all_user_interfaces_holds() {
    let page = ToolsPage::open("pages/second.html").await;
    page.browser.eval(PAGE, json!(null)).await;
    for rule in ActionRule::all() {
        let answer = page.call("interact", rule.arguments.clone()).await;
        rule.check(&answer.0, &[]);
    }
}

#[tokio::test]
async fn each_rule_holds() {
    let page = ToolsPage::open("pages/second.html").await;
    page.browser.eval(PAGE, json!(null)).await;
    for (name, actions, codes, part) in rows() {
        let answer = page
            .call("interact", json!({ "actions": actions, "view": "page" }))
            .await;
        let text = answer.text();
        let count = codes.as_array().unwrap().len();
        let actual: Vec<_> = (0..count).map(|index| answer.code(index).clone()).collect();
        assert_eq!(json!(actual), codes, "{name}: {text}");
        assert!(text.contains(part), "{name}: {text}");
        assert!(
            !["hunter2", "Private 42", "7788", "Send 42"]
                .iter()
                .any(|secret| text.contains(secret))
                || name == "private",
            "{name}: {text}"
        );
    }
    let counts = page.browser.eval("return counts", json!(null)).await;
    for refused in [
        "off", "aria", "inside", "inert", "fixed", "private", "below", "pin", "send", "passive",
    ] {
        assert_eq!(
            counts[refused],
            Value::Null,
            "nothing was dispatched: {counts}"
        );
    }
}

#[tokio::test]
async fn a_list_that_is_malformed_or_too_long_does_nothing() {
    let page = ToolsPage::open("pages/second.html").await;
    page.browser.eval(PAGE, json!(null)).await;
    let too_many = vec![json!({ "type": "scroll" }); 101];
    let malformed =
        json!([set("Name", json!("x")), { "type": "setValue", "find": { "name": "Name" } }]);
    for (actions, part) in [
        (
            json!(too_many),
            "there are 101 actions, and a call may have 100",
        ),
        (malformed, "/actions/1: setValue needs value"),
        (json!([]), "at least one action is needed"),
    ] {
        let answer = page.interact(actions).await;
        assert!(
            answer.is_error() && answer.text().contains(part),
            "{answer:?}"
        );
        let code = &answer.0["_meta"]["mcp-web/error"]["code"];
        assert_eq!(code, "InvalidArguments", "{answer:?}");
    }
    let counts = page.browser.eval("return counts", json!(null)).await;
    assert_eq!(counts, json!({}));
}

#[tokio::test]
async fn two_calls_do_not_interleave() {
    let page = ToolsPage::open("pages/second.html").await;
    page.browser.eval(PAGE, json!(null)).await;
    page.browser
        .eval("window.order = []; document.addEventListener('input', (event) => order.push(event.target.value), true)", json!(null))
        .await;
    let list = |letter: &str| {
        let actions: Vec<_> = (0..5)
            .map(|index| set("Name", json!(format!("{letter}{index}"))))
            .collect();
        json!({ "actions": actions, "view": "none" })
    };
    let (first, second) = tokio::join!(
        page.call("interact", list("a")),
        page.call("interact", list("b"))
    );
    assert!(!first.is_error() && !second.is_error());
    let order = page
        .browser
        .eval(
            "return order.map((value) => value[0]).join('')",
            json!(null),
        )
        .await;
    assert!(order == "aaaaabbbbb" || order == "bbbbbaaaaa", "{order}");
}

#[tokio::test]
async fn a_cancel_stops_between_two_actions() {
    let page = ToolsPage::open("pages/second.html").await;
    page.browser.eval(PAGE, json!(null)).await;
    let actions = json!([
        set("Name", json!("Ada")),
        { "type": "waitFor", "text": "Never there", "ms": 10_000 },
        click("Save"),
    ]);
    let call = page
        .client
        .start_call("interact", json!({ "actions": actions }))
        .await;
    page.browser
        .wait_for("document.querySelector('#name').value === 'Ada'")
        .await;
    call.cancel().await;
    // The next call runs when the cancelled one has ended, long before its wait would.
    let text = page.interact(json!([click("Twin")])).await.text();
    assert!(text.contains("2 elements have name"), "{text}");
    let shown = "return ['name', 'out'].map((id) => document.getElementById(id)).map((it) => it.value ?? it.textContent)";
    let shown = page.browser.eval(shown, json!(null)).await;
    assert_eq!(shown, json!(["Ada", ""]));
}

#[tokio::test]
async fn a_navigation_within_the_document_ends_the_list() {
    let page = ToolsPage::open("pages/second.html").await;
    let script = "document.body.innerHTML = '<main><button>Go</button><p>First</p></main>';
        document.querySelector('button').addEventListener('click', () => {
          history.pushState(null, '', '/pages/details');
          document.querySelector('p').textContent = 'Details';
        })";
    page.browser.eval(script, json!(null)).await;
    let answer = page
        .interact(json!([click("Go"), click("Go"), click("Go")]))
        .await;
    let text = answer.text();
    assert!(
        text.contains("went to \"/pages/details\", 2 actions skipped"),
        "{text}"
    );
    assert!(text.contains("Details"), "the new page is shown: {text}");
    assert_eq!(answer.facts()["skipped"], 2);
}

#[tokio::test]
async fn a_handle_never_means_another_element() {
    let page = ToolsPage::open("pages/second.html").await;
    page.browser.eval(PAGE, json!(null)).await;
    let handle = ref_of(&page.snapshot().await, "- button \"Gone\"");
    let reorder = "const main = document.querySelector('main');
        for (let i = 0; i < 1000; i++) main.append(main.firstElementChild)";
    page.browser.eval(reorder, json!(null)).await;
    assert_eq!(ref_of(&page.snapshot().await, "- button \"Gone\""), handle);
    let hover = json!([{ "type": "hover", "ref": handle }]);
    page.browser
        .eval("document.getElementById('gone').remove()", json!(null))
        .await;
    let stale = page.interact(hover.clone()).await;
    assert_eq!(stale.code(0), "TargetStale", "{stale:?}");
    page.browser.reload().await;
    page.browser.wait_for("window.pageToolsReady").await;
    let stale = page.interact(hover).await;
    assert_eq!(stale.code(0), "TargetStale", "after a reload: {stale:?}");
}

#[tokio::test]
async fn the_app_decides_with_its_options() {
    let options = "readOnly: false, confirm: (action, { label }) => !/Save/.test(label ?? ''), prefix: 'shop_'";
    let page = ToolsPage::open_with("pages/second.html", options).await;
    page.browser.eval(PAGE, json!(null)).await;
    let answer = page
        .call("shop_interact", json!({ "actions": [click("Save")] }))
        .await;
    assert_eq!(answer.code(0), "Declined", "{answer:?}");
    page.browser
        .eval(
            "enablePageTools(mcpWeb, { readOnly: true }); await pageTools.ready",
            json!(null),
        )
        .await;
    let tools = page.client.tools().await;
    let ours: Vec<_> = tools
        .iter()
        .filter(|name| {
            ["page_snapshot", "interact", "shop_interact", "page_query"].contains(&name.as_str())
        })
        .collect();
    assert_eq!(ours, ["page_snapshot", "page_query"]);
    let taken = "mcpWeb.addTool({ name: 'my_interact', handler: () => 1 });
        try { enablePageTools(mcpWeb, { prefix: 'my_' }); return 'none' } catch (error) { return error.message }";
    let refused = page.browser.eval(taken, json!(null)).await;
    assert!(
        refused
            .as_str()
            .unwrap()
            .contains("has a tool \"my_interact\" already: use the option prefix"),
        "{refused}"
    );
}
