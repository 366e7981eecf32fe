//! Handlers ask the client behind their call.

use bridge_protocol::{ClientRequest, ClientResponse};

use super::*;

fn request(key: &str, method: &str, params: &str) -> ClientRequest {
    ClientRequest {
        key: key.to_owned(),
        method: method.to_owned(),
        params: raw(params),
    }
}

fn elicit(key: &str) -> ClientRequest {
    request(key, "elicitation/create", r#"{"message":"?"}"#)
}

fn accepts(key: &str) -> ClientResponse {
    ClientResponse {
        key: key.to_owned(),
        result: Some(raw(r#"{"action":"accept","content":{}}"#)),
        error: None,
    }
}

impl Scene {
    /// A page with a call by a client that declared these capabilities.
    fn with_client(capabilities: &str) -> Self {
        Self::with_answers(capabilities, Vec::new())
    }

    fn with_answers(capabilities: &str, answers: Vec<ClientResponse>) -> Self {
        let mut scene = Scene::with_page();
        let mut call = new_call("c", tool("echo"));
        call.context.client = Some(client_with(capabilities).into());
        call.answers = answers;
        let effects = scene
            .realm
            .call_requested(&TAB.into(), call, scene.now)
            .unwrap();
        scene.then(effects);
        scene.realm.call_received(&TAB.into(), FIRST, &"c".into());
        scene
    }

    fn ask(&mut self, requests: Vec<ClientRequest>) {
        let connection = self.realm.sessions[&SessionId::from(TAB)]
            .phase
            .connection();
        let effects = self.realm.client_asked(
            &TAB.into(),
            connection.unwrap(),
            &"c".into(),
            requests,
            self.now,
        );
        self.then(effects);
    }

    fn client_answers(&mut self, answer: ClientResponse) {
        let effects = self.realm.client_answered(&"c".into(), answer, self.now);
        self.then(effects);
    }

    fn park(&mut self) -> u64 {
        let (round, _) = self.realm.call_parked(&"c".into()).unwrap();
        self.realm.check_invariants();
        round
    }

    fn resume(&mut self, round: u64, answers: Vec<ClientResponse>) -> bool {
        let resumed = self
            .realm
            .call_resumed(&"c".into(), round, answers, self.now);
        match resumed {
            Some((_, effects)) => {
                self.then(effects);
                true
            }
            None => false,
        }
    }

    fn asks(&self) -> bool {
        let asks = |effect: &Effect| matches!(effect, Effect::Asks { .. });
        self.effects.iter().any(asks)
    }

    /// Keys and failures of the answers that the page heard.
    fn heard(&self) -> Vec<(String, Option<ErrorCode>)> {
        let heard = self.effects.iter().filter_map(|effect| match effect {
            Effect::Send {
                message: BridgeToPage::ClientResponses(heard),
                ..
            } => Some(heard.responses.clone()),
            _ => None,
        });
        let heard = heard.flatten();
        heard
            .map(|heard| (heard.key, heard.error.map(|error| error.code)))
            .collect()
    }
}

#[test]
fn what_is_asked_goes_to_the_caller_once_and_the_answer_to_the_page() {
    let mut scene = Scene::with_client(r#"{"elicitation":{}}"#);
    scene.ask(vec![elicit("a"), elicit("b")]);
    assert!(scene.asks());
    assert_eq!(scene.realm.take_client_requests(&"c".into()).len(), 2);
    assert!(scene.realm.take_client_requests(&"c".into()).is_empty());
    scene.client_answers(accepts("b"));
    assert_eq!(scene.heard(), [("b".to_owned(), None)]);
    scene.client_answers(accepts("b"));
    assert!(scene.heard().is_empty(), "answered twice");
    scene.client_answers(accepts("unasked"));
    assert!(scene.heard().is_empty());
}

#[test]
fn what_the_client_cannot_do_fails_at_once_and_says_what_is_missing() {
    let cases = [
        ("{}", elicit("k"), r#"{"elicitation":{}}"#),
        (
            r#"{"elicitation":{"form":{}}}"#,
            request("k", "elicitation/create", r#"{"mode":"url"}"#),
            r#"{"elicitation":{"url":{}}}"#,
        ),
        (
            r#"{"elicitation":{"url":{}}}"#,
            elicit("k"),
            r#"{"elicitation":{}}"#,
        ),
        (
            "{}",
            request("k", "sampling/createMessage", "{}"),
            r#"{"sampling":{}}"#,
        ),
        (
            r#"{"sampling":{}}"#,
            request("k", "sampling/createMessage", r#"{"tools":[]}"#),
            r#"{"sampling":{"tools":{}}}"#,
        ),
        ("{}", request("k", "roots/list", "{}"), r#"{"roots":{}}"#),
    ];
    for (capabilities, request, missing) in cases {
        let mut scene = Scene::with_client(capabilities);
        scene.ask(vec![request]);
        assert!(!scene.asks());
        let Some(Effect::Send {
            message: BridgeToPage::ClientResponses(heard),
            ..
        }) = scene.effects.first()
        else {
            panic!("{:?}", scene.effects)
        };
        let error = heard.responses[0].error.as_ref().unwrap();
        assert_eq!(error.code, ErrorCode::ClientCapabilityMissing);
        let data = error.data.as_ref().unwrap().get();
        assert_eq!(data, format!(r#"{{"requiredCapabilities":{missing}}}"#));
    }
}

#[test]
fn a_method_that_no_client_has_and_too_many_requests_are_refused() {
    let mut scene = Scene::with_client(r#"{"elicitation":{}}"#);
    scene.ask(vec![request("k", "tools/call", "{}")]);
    assert_eq!(
        scene.heard(),
        [("k".to_owned(), Some(ErrorCode::UnknownMethod))]
    );
    let many = (0..=MAX_OPEN_REQUESTS).map(|n| elicit(&n.to_string()));
    scene.ask(many.collect());
    assert_eq!(
        scene.heard(),
        [(
            MAX_OPEN_REQUESTS.to_string(),
            Some(ErrorCode::ClientRequestFailed)
        )]
    );
}

#[test]
fn waiting_for_the_client_does_not_count_as_the_calls_own_time() {
    let mut scene = Scene::with_client(r#"{"elicitation":{}}"#);
    scene.after(100.0);
    scene.ask(vec![elicit("a")]);
    scene.after(400.0);
    assert!(scene.endings().is_empty());
    scene.client_answers(accepts("a"));
    scene.after(419.0);
    assert!(scene.endings().is_empty());
    scene.after(420.0);
    assert_eq!(
        scene.endings(),
        [("c".to_owned(), Some(ErrorCode::CallTimeout))]
    );
}

#[test]
fn a_client_that_does_not_answer_fails_the_request_and_not_the_call() {
    let mut scene = Scene::with_client(r#"{"elicitation":{}}"#);
    scene.ask(vec![elicit("a")]);
    scene.after(600.0);
    assert_eq!(
        scene.heard(),
        [("a".to_owned(), Some(ErrorCode::ClientRequestFailed))]
    );
    assert!(scene.endings().is_empty());
    scene.answer(FIRST, "c");
    assert_eq!(scene.endings(), [("c".to_owned(), None)]);
}

#[test]
fn an_answer_of_the_wrong_shape_fails_and_is_asked_again_in_rounds() {
    let mut scene = Scene::with_client(r#"{"elicitation":{}}"#);
    for wrong in ["12345", "{}", r#"{"action":"maybe"}"#] {
        let answer = ClientResponse {
            result: Some(raw(wrong)),
            ..accepts(wrong)
        };
        scene.ask(vec![elicit(wrong)]);
        let round = scene.park();
        assert!(scene.resume(round, vec![answer.clone()]));
        assert!(scene.heard().is_empty() && scene.asks(), "{wrong}");
        scene.client_answers(answer);
        let failed = Some(ErrorCode::ClientRequestFailed);
        assert_eq!(scene.heard(), [(wrong.to_owned(), failed)]);
    }
}

#[test]
fn a_parked_call_goes_on_with_its_round_and_no_other() {
    let mut scene = Scene::with_client(r#"{"elicitation":{}}"#);
    scene.ask(vec![elicit("a")]);
    let round = scene.park();
    assert!(!scene.resume(round + 1, vec![accepts("a")]));
    assert!(scene.resume(round, vec![accepts("a")]));
    assert_eq!(scene.heard(), [("a".to_owned(), None)]);
    assert!(!scene.resume(round, vec![accepts("a")]), "twice");
    scene.ask(vec![elicit("b")]);
    assert!(scene.asks());
    let second = scene.park();
    assert_ne!(second, round);
    assert!(scene.resume(second, vec![]));
    assert!(scene.asks(), "what is missing is asked again");
    scene.park();
}

#[test]
fn a_parked_call_keeps_its_ending_for_the_next_round() {
    let mut scene = Scene::with_client(r#"{"elicitation":{}}"#);
    scene.ask(vec![elicit("a")]);
    let round = scene.park();
    scene.answer(FIRST, "c");
    assert!(scene.endings().is_empty());
    assert!(scene.resume(round, vec![accepts("a")]));
    assert_eq!(scene.endings(), [("c".to_owned(), None)]);
}

#[test]
fn a_parked_call_that_nobody_goes_on_with_is_called_off_in_the_page() {
    let mut scene = Scene::with_client(r#"{"elicitation":{}}"#);
    scene.ask(vec![elicit("a")]);
    let round = scene.park();
    scene.after(599.0);
    assert!(scene.endings().is_empty());
    scene.after(600.0);
    assert_eq!(scene.sent(FIRST), ["call-cancel"]);
    assert!(!scene.resume(round, vec![accepts("a")]));
    assert!(scene.realm.calls.is_empty());
}

#[test]
fn a_parked_call_ends_with_its_page() {
    let mut scene = Scene::with_client(r#"{"elicitation":{}}"#);
    scene.ask(vec![elicit("a")]);
    let round = scene.park();
    scene.end(FIRST, Parting::Gone);
    assert!(!scene.resume(round, vec![accepts("a")]));
    assert!(scene.realm.calls.is_empty());
}

#[test]
fn answers_that_came_with_the_call_are_used_by_key() {
    let wrong = ClientResponse {
        result: Some(raw("7")),
        ..accepts("b")
    };
    let answers = vec![accepts("a"), wrong, accepts("unasked")];
    let mut scene = Scene::with_answers(r#"{"elicitation":{}}"#, answers);
    scene.ask(vec![elicit("a"), elicit("b")]);
    assert_eq!(scene.heard(), [("a".to_owned(), None)]);
    let open = scene.realm.take_client_requests(&"c".into());
    assert_eq!(open.len(), 1);
    assert_eq!(open[0].key, "b");
}

#[test]
fn a_page_that_comes_back_asks_again_and_hears_again() {
    let mut scene = Scene::with_client(r#"{"elicitation":{}}"#);
    scene.ask(vec![elicit("a"), elicit("b")]);
    let _ = scene.realm.take_client_requests(&"c".into());
    scene.end(FIRST, Parting::Broken);
    scene.client_answers(accepts("a"));
    assert!(scene.effects.is_empty());
    scene.connect(SECOND);
    scene.ask(vec![elicit("a"), elicit("b")]);
    assert_eq!(scene.heard(), [("a".to_owned(), None)]);
    assert!(scene.realm.take_client_requests(&"c".into()).is_empty());
}

#[test]
fn cancelling_while_the_client_is_asked_ends_the_call_and_leaves_nothing() {
    let mut scene = Scene::with_client(r#"{"elicitation":{}}"#);
    scene.ask(vec![elicit("a")]);
    let effects = scene
        .realm
        .call_cancelled(&"c".into(), "cancelled", scene.now);
    scene.then(effects);
    assert_eq!(scene.sent(FIRST), ["call-cancel"]);
    assert!(scene.realm.calls.is_empty());
    scene.client_answers(accepts("a"));
    assert!(scene.effects.is_empty());
}

#[test]
fn a_call_asks_so_many_times_and_repeating_counts() {
    let mut scene = Scene::with_client(r#"{"elicitation":{}}"#);
    for n in 0..MAX_REQUESTS / 2 {
        let key = n.to_string();
        scene.ask(vec![elicit(&key)]);
        scene.client_answers(accepts(&key));
        scene.ask(vec![elicit(&key)]);
        assert_eq!(scene.heard(), [(key, None)]);
    }
    let refused = Some(ErrorCode::ClientRequestFailed);
    scene.ask(vec![elicit("more"), elicit("0")]);
    let heard = ["more", "0"].map(|key| (key.to_owned(), refused));
    assert_eq!(scene.heard(), heard);
    let long = "k".repeat(MAX_KEY_BYTES + 1);
    scene.ask(vec![elicit(&long)]);
    assert_eq!(scene.heard(), [(long, refused)]);
    assert!(!scene.asks());
}

#[test]
fn what_is_open_has_room_for_so_many_bytes() {
    let mut scene = Scene::with_client(r#"{"sampling":{}}"#);
    let large = |key: &str, bytes| {
        let params = format!(r#"{{"systemPrompt":"{}"}}"#, "x".repeat(bytes));
        request(key, "sampling/createMessage", &params)
    };
    let half = MAX_OPEN_BYTES / 2;
    scene.ask(vec![large("a", half), large("b", half)]);
    let refused = Some(ErrorCode::ClientRequestFailed);
    assert_eq!(scene.heard(), [("b".to_owned(), refused)]);
    scene.client_answers(ClientResponse {
        result: Some(raw(r#"{"role":"assistant","content":{}}"#)),
        ..accepts("a")
    });
    scene.ask(vec![large("c", half)]);
    assert!(scene.asks() && scene.heard().is_empty());
}

/// However often a page asks for it again, an answer cannot fill the line to the page.
#[test]
fn a_call_hears_so_many_bytes_of_answers() {
    let mut scene = Scene::with_client(r#"{"elicitation":{}}"#);
    scene.ask(vec![elicit("a")]);
    let quarter = "x".repeat(MAX_ANSWER_BYTES / 4);
    scene.client_answers(ClientResponse {
        result: Some(raw(&format!(
            r#"{{"action":"accept","content":{{"v":"{quarter}"}}}}"#
        ))),
        ..accepts("a")
    });
    scene.ask((0..4).map(|_| elicit("a")).collect());
    let heard: Vec<_> = scene.heard().into_iter().map(|(_, error)| error).collect();
    let refused = Some(ErrorCode::ClientRequestFailed);
    assert_eq!(heard, [None, None, refused, refused]);
}

/// A parked completion would wait for a client that never comes back.
#[test]
fn a_completer_cannot_ask() {
    let mut scene = Scene::with_client(r#"{"elicitation":{}}"#);
    let mut call = new_call("completion", tool("echo"));
    call.context = scene.realm.calls[&CallId::from("c")].context.clone();
    call.request = Request::Completion {
        reference: tool("echo").item(),
        argument: bridge_protocol::Argument {
            name: "a".to_owned(),
            value: String::new(),
        },
        arguments: std::collections::BTreeMap::new(),
    };
    let effects = scene.realm.call_requested(&TAB.into(), call, scene.now);
    scene.then(effects.unwrap());
    let asked = vec![elicit("a")];
    let call = "completion".into();
    let effects = scene
        .realm
        .client_asked(&TAB.into(), FIRST, &call, asked, scene.now);
    scene.then(effects);
    let refused = Some(ErrorCode::ClientCapabilityMissing);
    assert_eq!(scene.heard(), [("a".to_owned(), refused)]);
    assert!(!scene.asks());
}
