//! Page tools for a window that is not a web page: the rules of `page-tools` with a driver in Rust. The
//! window is plain data, which counts what is done to it.

use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use e2e::{ActionRule, Era, McpClient, PlainHttp, TestBed, Transport};
use mcp_web_sdk::page::{
    Action, ActionCode, ActionFailure, ActionKind, Driver, Inspection, Limits, Node, NodeValue,
    Outcome, PageInfo, PageState, PageSummary, PageTools, PageToolsOptions, Picture, ReadBack,
    State, TargetFacts, Tree, TreeOptions,
};
use mcp_web_sdk::{McpWeb, Token};
use serde_json::{Value, json};

/// A control of the window.
#[derive(Clone)]
struct Control {
    reference: &'static str,
    role: &'static str,
    name: &'static str,
    value: Option<String>,
    states: Vec<State>,
    facts: TargetFacts,
}

/// The part of the window that a test sees.
#[derive(Clone)]
struct Window {
    controls: Vec<Control>,
    page: &'static str,
    /// The actions that were done, in order.
    done: Vec<String>,
}

/// The driver of the window.
struct WindowDriver {
    window: Arc<Mutex<Window>>,
    changed: Vec<String>,
    navigated: Option<String>,
}

fn control(reference: &'static str, role: &'static str, name: &'static str) -> Control {
    Control {
        reference,
        role,
        name,
        value: (role == "textbox").then(String::new),
        states: Vec::new(),
        facts: TargetFacts {
            label: format!("{role} \"{name}\""),
            editable: role == "textbox",
            ..TargetFacts::default()
        },
    }
}

fn window() -> Window {
    let facts = |mut control: Control, change: fn(&mut TargetFacts)| {
        change(&mut control.facts);
        control
    };
    let mut locked = facts(control("w2", "button", "Off"), |facts| {
        facts.disabled = Some("disabled".into());
    });
    locked.states.push(State::Disabled);
    Window {
        controls: vec![
            control("w1", "textbox", "Name"),
            locked,
            facts(control("w3", "textbox", "Fixed"), |facts| {
                facts.read_only = true;
            }),
            facts(control("w4", "button", "Hidden"), |facts| {
                facts.hidden = true;
            }),
            facts(control("w5", "button", "Covered"), |facts| {
                facts.covered_by = Some("dialog \"Wait\"".into());
            }),
            facts(control("w6", "button", "Private"), |facts| {
                facts.private = true;
            }),
            control("w7", "textbox", "Capitals"),
            control("w8", "button", "Save"),
            control("w9", "button", "Endless"),
            control("w10", "button", "Twin"),
            control("w11", "button", "Twin"),
        ],
        page: "order",
        done: Vec::new(),
    }
}

impl WindowDriver {
    fn with<Result>(&self, work: impl FnOnce(&mut Window) -> Result) -> Result {
        work(&mut self.window.lock().unwrap())
    }
}

impl Driver for WindowDriver {
    async fn page(&mut self) -> PageInfo {
        PageInfo {
            page_id: self.with(|window| window.page.to_owned()),
            url: None,
            title: "Orders".to_owned(),
        }
    }

    async fn tree(&mut self, options: TreeOptions) -> Result<Tree, ActionFailure> {
        if let Some(within) = options.within {
            return Err(ActionFailure::stale(&within));
        }
        let nodes = self.with(|window| {
            let nodes = window.controls.iter().map(|control| Node {
                name: Some(control.name.to_owned()),
                reference: Some(control.reference.to_owned()),
                value: control.value.clone().map(NodeValue::One),
                states: control.states.clone(),
                ..Node::new(control.role)
            });
            nodes.collect::<Vec<_>>()
        });
        let root = Node {
            children: nodes,
            ..Node::new("generic")
        };
        let elements = root.count_elements();
        Ok(Tree { root, elements })
    }

    async fn inspect(
        &mut self,
        reference: &str,
        _action: &Action,
    ) -> Result<Inspection, ActionFailure> {
        Ok(self.with(|window| {
            let control = window.controls.iter().find(|it| it.reference == reference);
            match control {
                Some(control) => Inspection::Facts(control.facts.clone()),
                None if reference == "w0" => Inspection::Stale,
                None => Inspection::Unknown,
            }
        }))
    }

    async fn focused(&mut self) -> Option<String> {
        None
    }

    async fn begin_action(&mut self) {
        self.changed.clear();
        self.navigated = None;
    }

    async fn apply(
        &mut self,
        action: &Action,
        fields: &Value,
        reference: Option<&str>,
        _to: Option<&str>,
    ) -> Result<(), ActionFailure> {
        if reference == Some("w9") {
            return std::future::pending().await;
        }
        let word = format!("{} {}", action.kind.name(), reference.unwrap_or_default());
        self.with(|window| window.done.push(word.trim().to_owned()));
        match &action.kind {
            ActionKind::SetValue => {
                let text = fields["value"].as_str().unwrap_or_default().to_owned();
                let is_rewritten = reference == Some("w7");
                let text = if is_rewritten {
                    text.to_uppercase()
                } else {
                    text
                };
                self.with(|window| {
                    let control = window.controls.iter_mut();
                    let mut control = control.filter(|it| Some(it.reference) == reference);
                    control.next().unwrap().value = Some(text);
                });
                self.changed.extend(reference.map(str::to_owned));
                Ok(())
            }
            ActionKind::Navigate { page_id } if page_id == "details" => {
                self.with(|window| window.page = "details");
                self.navigated = Some("details".to_owned());
                Ok(())
            }
            ActionKind::Navigate { .. } => Err(ActionFailure::new(
                ActionCode::PageUnknown,
                "there is no such page: get_pages lists them",
            )),
            ActionKind::TriggerEvent { .. } | ActionKind::PressKey { .. } => Ok(()),
            _ => Err(ActionFailure::unsupported(
                action.kind.name(),
                "use setValue, triggerEvent, pressKey or navigate",
            )),
        }
    }

    async fn rest(&mut self, _is_brief: bool) {}

    async fn read_back(
        &mut self,
        reference: &str,
        fields: &Value,
    ) -> Result<Option<ReadBack>, ActionFailure> {
        let expected = fields["value"].as_str().unwrap_or_default().to_owned();
        let actual = self.with(|window| {
            let control = window.controls.iter().find(|it| it.reference == reference);
            control.and_then(|control| control.value.clone())
        });
        let actual = actual.unwrap_or_default();
        Ok(Some(ReadBack {
            matches: expected == actual,
            expected,
            actual,
        }))
    }

    async fn end_action(&mut self) -> Outcome {
        Outcome {
            changed: std::mem::take(&mut self.changed),
            navigated: self.navigated.take(),
            ..Outcome::default()
        }
    }

    async fn change(&mut self, at_most: Duration) {
        let span = at_most.min(Duration::from_millis(50));
        tokio::time::sleep(span).await; // sleep: nothing of this window changes by itself
    }

    async fn pages(&mut self) -> Vec<PageSummary> {
        vec![PageSummary {
            page_id: "details".to_owned(),
            title: "Details".to_owned(),
        }]
    }

    async fn state(&mut self) -> PageState {
        PageState {
            state: json!({ "customer": self.with(|window| window.controls[0].value.clone()) }),
            ..PageState::default()
        }
    }

    fn screenshot(
        &mut self,
        reference: Option<&str>,
    ) -> impl Future<Output = Result<Picture, ActionFailure>> + Send {
        let picture = match reference {
            None => Ok(Picture {
                bytes: b"\x89PNG".to_vec(),
                mime_type: "image/png".to_owned(),
            }),
            Some(reference) => Err(ActionFailure::unknown(reference)),
        };
        std::future::ready(picture)
    }
}

/// A program with the window, and a client of it.
struct Program {
    _app: McpWeb,
    window: Arc<Mutex<Window>>,
    client: PlainHttp,
    bed: TestBed,
}

impl Program {
    async fn start(options: PageToolsOptions) -> Self {
        let bed = TestBed::bridge().await;
        let builder = McpWeb::builder("Window").bridge(bed.url());
        let app = builder.token(Token::new(bed.token())).build().unwrap();
        let window = Arc::new(Mutex::new(window()));
        let driver = WindowDriver {
            window: window.clone(),
            changed: Vec::new(),
            navigated: None,
        };
        let tools = PageTools::enable(&app, driver, options);
        app.connect().await.unwrap();
        tools.ready().await.unwrap();
        Self {
            _app: app,
            window,
            client: PlainHttp::new(&bed),
            bed,
        }
    }

    async fn call(&self, tool: &str, input: Value) -> Value {
        self.client.call(tool, input).await.unwrap()
    }

    /// Runs actions, and returns the lines of the log.
    async fn log(&self, actions: Value) -> Vec<String> {
        self.log_of(json!({ "actions": actions, "view": "none" }))
            .await
    }

    /// Runs all actions, also after one that failed, and returns the lines of the log.
    async fn log_of_all(&self, actions: Value) -> Vec<String> {
        self.log_of(json!({ "actions": actions, "onError": "continue", "view": "none" }))
            .await
    }

    async fn log_of(&self, input: Value) -> Vec<String> {
        let answer = self.call("interact", input).await;
        let text = answer["content"][0]["text"].as_str();
        let text = text.unwrap_or_else(|| panic!("{answer}"));
        text.lines().map(str::to_owned).collect()
    }

    fn done(&self) -> Vec<String> {
        self.window.lock().unwrap().done.clone()
    }
}

fn click(reference: &str) -> Value {
    json!({ "type": "triggerEvent", "ref": reference, "event": "onClick" })
}

#[tokio::test]
async fn a_client_reads_the_window_and_acts_on_it() {
    let program = Program::start(PageToolsOptions::default()).await;
    let client = McpClient::connect(&program.bed, Transport::Http, Era::Discover).await;
    let tools = client.tools().await;
    for tool in [
        "navigate",
        "interact",
        "get_state",
        "get_pages",
        "page_snapshot",
        "page_query",
    ] {
        assert!(tools.iter().any(|name| name == tool), "{tools:?}");
    }
    assert!(!tools.iter().any(|name| name == "page_screenshot"));

    let snapshot = program.call("page_snapshot", json!({})).await;
    let text = snapshot["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("page \"Orders\""), "{text}");
    assert!(text.contains("- textbox \"Name\" [ref=w1]: \"\""), "{text}");
    assert!(
        text.contains("- button \"Off\" [ref=w2] [disabled]"),
        "{text}"
    );

    let actions = json!([
        { "type": "setValue", "find": { "role": "textbox", "name": "name" }, "value": "Acme" },
        click("w8"),
    ]);
    let answer = program
        .call("interact", json!({ "actions": actions }))
        .await;
    let log = answer["content"][0]["text"].as_str().unwrap();
    assert_eq!(
        log,
        "1 setValue w1 ok, changed w1\n2 triggerEvent w8 onClick ok"
    );
    let page = answer["content"][1]["text"].as_str().unwrap();
    assert!(page.contains("\"Name\" [ref=w1]: \"Acme\""), "{page}");
    assert_eq!(answer["_meta"]["mcp-web/page"]["log"][0]["ok"], true);
    let state = program.call("get_state", json!({})).await;
    assert_eq!(state["structuredContent"]["state"]["customer"], "Acme");
    let found = program.call("page_query", json!({ "name": "twin" })).await;
    assert_eq!(found["content"][0]["text"], "2 elements match");
}

#[tokio::test]
async fn each_rule_of_all_user_interfaces_holds() {
    let program = Program::start(PageToolsOptions::default()).await;
    // An action that this window cannot do is a row with that error.
    let exceptions = [
        ("event that is none", None),
        ("method that is none", Some("ActionUnsupported")),
        ("key that is none", None),
        ("hover", Some("ActionUnsupported")),
        ("scroll", Some("ActionUnsupported")),
        ("drag", Some("ActionUnsupported")),
    ];
    for rule in ActionRule::all() {
        let answer = program.call("interact", rule.arguments.clone()).await;
        rule.check(&answer, &exceptions);
    }
}

#[tokio::test]
async fn each_refusal_does_nothing() {
    let program = Program::start(PageToolsOptions::default()).await;
    let set = |reference: &str| json!({ "type": "setValue", "ref": reference, "value": "x" });
    let find = json!({ "type": "triggerEvent", "find": { "name": "Twin" }, "event": "onClick" });
    let rows = [
        (click("w2"), "TargetDisabled"),
        (set("w3"), "TargetReadOnly"),
        (click("w4"), "TargetHidden"),
        (click("w5"), "TargetCovered"),
        (click("w6"), "TargetPrivate"),
        (set("w8"), "NotEditable"),
        (click("w0"), "TargetStale"),
        (click("w99"), "TargetNotFound"),
        (find, "TargetAmbiguous"),
    ];
    for (action, code) in rows {
        let log = program.log(json!([action])).await;
        assert!(log[0].contains(&format!(" failed {code}: ")), "{log:?}");
    }
    assert!(program.done().is_empty());
}

#[tokio::test]
async fn a_list_continues_after_a_failure_if_asked_to_and_a_navigation_ends_it() {
    let program = Program::start(PageToolsOptions::default()).await;
    let actions = json!([
        { "type": "hover", "ref": "w1" },
        { "type": "setValue", "ref": "w7", "value": "small" },
        { "type": "navigate", "pageId": "elsewhere" },
        { "type": "navigate", "pageId": "details" },
        click("w8"),
    ]);
    let log = program.log_of_all(actions).await;
    assert!(
        log[0].contains("failed ActionUnsupported: hover cannot be done here"),
        "{log:?}"
    );
    assert!(
        log[1].contains("failed ValueRefused") && log[1].contains("SMALL"),
        "{log:?}"
    );
    assert!(log[2].contains("failed PageUnknown"), "{log:?}");
    assert!(log[3].starts_with("4 navigate details ok"), "{log:?}");
    assert_eq!(log[4], "went to \"details\", 1 action skipped");
    let last = program.done().pop();
    assert_eq!(last.as_deref(), Some("navigate"));
}

#[tokio::test]
async fn a_list_that_is_malformed_or_too_long_does_nothing() {
    let program = Program::start(PageToolsOptions::default()).await;
    let lists = [
        (
            json!([click("w8"), { "type": "setValue", "ref": "w1" }]),
            "ActionMalformed",
        ),
        (json!(vec![click("w8"); 101]), "TooManyActions"),
        (json!([]), "ActionMalformed"),
    ];
    for (actions, reason) in lists {
        let answer = program
            .call("interact", json!({ "actions": actions }))
            .await;
        let error = &answer["_meta"]["mcp-web/error"];
        assert_eq!(error["code"], "InvalidArguments", "{answer}");
        assert_eq!(error["data"]["reason"], reason, "{answer}");
    }
    let answer = program
        .call("page_snapshot", json!({ "within": "w0" }))
        .await;
    assert_eq!(
        answer["_meta"]["mcp-web/error"]["data"]["reason"], "RefUnknown",
        "{answer}"
    );
    assert!(program.done().is_empty());
    assert_eq!(program.log(json!(vec![click("w8"); 100])).await.len(), 100);
}

#[tokio::test]
async fn an_action_that_does_not_end_ends_with_its_time() {
    let limits = Limits {
        action_timeout_ms: 200.0,
        ..Limits::default()
    };
    let options = PageToolsOptions {
        limits,
        ..PageToolsOptions::default()
    };
    let program = Program::start(options).await;
    let log = program.log_of_all(json!([click("w9"), click("w8")])).await;
    assert!(log[0].contains("failed ActionTimeout"), "{log:?}");
    assert!(log[1].ends_with(" ok"), "{log:?}");
}

#[tokio::test]
async fn two_calls_do_not_interleave() {
    let program = Program::start(PageToolsOptions::default()).await;
    let list = |reference| json!((0..20).map(|_| click(reference)).collect::<Vec<_>>());
    tokio::join!(program.log(list("w8")), program.log(list("w1")));
    let done = program.done();
    assert_eq!(done.len(), 40);
    let changes = done.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert_eq!(changes, 1, "{done:?}");
}

#[tokio::test]
async fn options_say_what_is_offered() {
    let options = PageToolsOptions {
        read_only: true,
        has_pictures: true,
        prefix: "window_".to_owned(),
        ..PageToolsOptions::default()
    };
    let program = Program::start(options).await;
    let answer = program.call("window_page_screenshot", json!({})).await;
    assert_eq!(answer["content"][0]["type"], "image", "{answer}");
    assert_eq!(answer["content"][0]["mimeType"], "image/png", "{answer}");
    let answer = program
        .call("window_page_screenshot", json!({ "ref": "w1" }))
        .await;
    assert_eq!(
        answer["_meta"]["mcp-web/error"]["code"], "InvalidArguments",
        "{answer}"
    );
    let answer = program
        .call("window_interact", json!({ "actions": [click("w8")] }))
        .await;
    assert!(answer["error"].is_string(), "{answer}");
}
