//! Handlers send requests to the client of their call.

use bridge_protocol::{ClientRequest, ClientResponse};

use super::*;

fn request(key: &str, method: &str, params: &str) -> ClientRequest {
    ClientRequest {
        key: key.to_owned(),
        method: method.to_owned(),
        params: raw(params),
    }
}

fn elicitation(key: &str) -> ClientRequest {
    request(key, "elicitation/create", r#"{"message":"?"}"#)
}

fn accept_response(key: &str) -> ClientResponse {
    ClientResponse {
        key: key.to_owned(),
        result: Some(raw(r#"{"action":"accept","content":{}}"#)),
        error: None,
    }
}

impl Harness {
    /// Creates a page and a call whose client has declared these capabilities.
    fn with_client(capabilities: &str) -> Self {
        Self::with_responses(capabilities, Vec::new())
    }

    fn with_responses(capabilities: &str, answers: Vec<ClientResponse>) -> Self {
        let mut scene = Harness::with_page();
        let mut call = new_call("c", tool("echo"));
        call.context.client = Some(client_with(capabilities).into());
        call.client_responses = answers;
        let effects = scene
            .realm
            .call_requested(&TAB.into(), call, scene.now)
            .unwrap();
        scene.apply(effects);
        scene
            .realm
            .call_received(&TAB.into(), FIRST_CONNECTION, &"c".into());
        scene
    }

    fn ask(&mut self, requests: Vec<ClientRequest>) {
        let connection = self.realm.sessions[&SessionId::from(TAB)]
            .phase
            .connection();
        let effects = self.realm.client_requests_received(
            &TAB.into(),
            connection.unwrap(),
            &"c".into(),
            requests,
            self.now,
        );
        self.apply(effects);
    }

    fn client_answers(&mut self, answer: ClientResponse) {
        let effects = self.realm.client_answered(&"c".into(), answer, self.now);
        self.apply(effects);
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
                self.apply(effects);
                true
            }
            None => false,
        }
    }

    fn has_client_requests(&self) -> bool {
        let asks = |effect: &Effect| matches!(effect, Effect::ClientRequestsPending { .. });
        self.effects.iter().any(asks)
    }

    /// The keys and failures of the responses that were sent to the page.
    fn client_responses(&self) -> Vec<(String, Option<ErrorCode>)> {
        let messages = self.effects.iter().filter_map(|effect| match effect {
            Effect::Send {
                message: BridgeToPage::ClientResponses(message),
                ..
            } => Some(message.responses.clone()),
            _ => None,
        });
        messages
            .flatten()
            .map(|response| (response.key, response.error.map(|error| error.code)))
            .collect()
    }
}

#[test]
fn a_request_goes_to_the_caller_once_and_its_response_to_the_page() {
    let mut scene = Harness::with_client(r#"{"elicitation":{}}"#);
    assert!(!scene.realm.awaits_requests());
    scene.ask(vec![elicitation("a"), elicitation("b")]);
    assert!(scene.has_client_requests());
    assert_eq!(scene.realm.take_client_requests(&"c".into()).len(), 2);
    assert!(scene.realm.take_client_requests(&"c".into()).is_empty());
    assert!(scene.realm.awaits_requests());
    scene.client_answers(accept_response("b"));
    assert_eq!(scene.client_responses(), [("b".to_owned(), None)]);
    scene.client_answers(accept_response("b"));
    assert!(scene.client_responses().is_empty(), "answered twice");
    scene.client_answers(accept_response("unasked"));
    assert!(scene.client_responses().is_empty());
}

#[test]
fn a_missing_client_capability_fails_at_once_and_is_named() {
    let cases = [
        ("{}", elicitation("k"), r#"{"elicitation":{}}"#),
        (
            r#"{"elicitation":{"form":{}}}"#,
            request("k", "elicitation/create", r#"{"mode":"url"}"#),
            r#"{"elicitation":{"url":{}}}"#,
        ),
        (
            r#"{"elicitation":{"url":{}}}"#,
            elicitation("k"),
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
        let mut scene = Harness::with_client(capabilities);
        scene.ask(vec![request]);
        assert!(!scene.has_client_requests());
        let Some(Effect::Send {
            message: BridgeToPage::ClientResponses(message),
            ..
        }) = scene.effects.first()
        else {
            panic!("{:?}", scene.effects)
        };
        let error = message.responses[0].error.as_ref().unwrap();
        assert_eq!(error.code, ErrorCode::ClientCapabilityMissing);
        let data = error.data.as_ref().unwrap().get();
        assert_eq!(data, format!(r#"{{"requiredCapabilities":{missing}}}"#));
    }
}

#[test]
fn unknown_methods_and_too_many_requests_are_rejected() {
    let mut scene = Harness::with_client(r#"{"elicitation":{}}"#);
    scene.ask(vec![request("k", "tools/call", "{}")]);
    assert_eq!(
        scene.client_responses(),
        [("k".to_owned(), Some(ErrorCode::UnknownMethod))]
    );
    let many = (0..=MAX_PENDING_REQUESTS).map(|n| elicitation(&n.to_string()));
    scene.ask(many.collect());
    assert_eq!(
        scene.client_responses(),
        [(
            MAX_PENDING_REQUESTS.to_string(),
            Some(ErrorCode::ClientRequestFailed)
        )]
    );
}

#[test]
fn waiting_for_the_client_does_not_count_towards_the_call_timeout() {
    let mut scene = Harness::with_client(r#"{"elicitation":{}}"#);
    scene.advance_to(100.0);
    scene.ask(vec![elicitation("a")]);
    scene.advance_to(400.0);
    assert!(scene.call_outcomes().is_empty());
    scene.client_answers(accept_response("a"));
    scene.advance_to(419.0);
    assert!(scene.call_outcomes().is_empty());
    scene.advance_to(420.0);
    assert_eq!(
        scene.call_outcomes(),
        [("c".to_owned(), Some(ErrorCode::CallTimeout))]
    );
}

#[test]
fn a_client_that_does_not_answer_fails_the_request_and_not_the_call() {
    let mut scene = Harness::with_client(r#"{"elicitation":{}}"#);
    scene.ask(vec![elicitation("a")]);
    scene.advance_to(600.0);
    assert_eq!(
        scene.client_responses(),
        [("a".to_owned(), Some(ErrorCode::ClientRequestFailed))]
    );
    assert!(scene.call_outcomes().is_empty());
    scene.answer(FIRST_CONNECTION, "c");
    assert_eq!(scene.call_outcomes(), [("c".to_owned(), None)]);
}

#[test]
fn an_answer_of_the_wrong_shape_fails_and_is_asked_again_in_rounds() {
    let mut scene = Harness::with_client(r#"{"elicitation":{}}"#);
    for wrong in ["12345", "{}", r#"{"action":"maybe"}"#] {
        let answer = ClientResponse {
            result: Some(raw(wrong)),
            ..accept_response(wrong)
        };
        scene.ask(vec![elicitation(wrong)]);
        let round = scene.park();
        assert!(scene.resume(round, vec![answer.clone()]));
        assert!(
            scene.client_responses().is_empty() && scene.has_client_requests(),
            "{wrong}"
        );
        scene.client_answers(answer);
        let failed = Some(ErrorCode::ClientRequestFailed);
        assert_eq!(scene.client_responses(), [(wrong.to_owned(), failed)]);
    }
}

#[test]
fn a_parked_call_resumes_with_its_round_only() {
    let mut scene = Harness::with_client(r#"{"elicitation":{}}"#);
    scene.ask(vec![elicitation("a")]);
    let round = scene.park();
    assert!(!scene.resume(round + 1, vec![accept_response("a")]));
    assert!(scene.resume(round, vec![accept_response("a")]));
    assert_eq!(scene.client_responses(), [("a".to_owned(), None)]);
    assert!(!scene.resume(round, vec![accept_response("a")]), "twice");
    scene.ask(vec![elicitation("b")]);
    assert!(scene.has_client_requests());
    let second = scene.park();
    assert_ne!(second, round);
    assert!(scene.resume(second, vec![]));
    assert!(
        scene.has_client_requests(),
        "unanswered requests are sent again"
    );
    scene.park();
}

#[test]
fn a_parked_call_keeps_its_outcome_for_the_next_round() {
    let mut scene = Harness::with_client(r#"{"elicitation":{}}"#);
    scene.ask(vec![elicitation("a")]);
    let round = scene.park();
    scene.answer(FIRST_CONNECTION, "c");
    assert!(scene.call_outcomes().is_empty());
    assert!(scene.resume(round, vec![accept_response("a")]));
    assert_eq!(scene.call_outcomes(), [("c".to_owned(), None)]);
}

#[test]
fn a_parked_call_keeps_its_first_outcome() {
    let mut scene = Harness::with_client(r#"{"elicitation":{}}"#);
    scene.ask(vec![elicitation("a")]);
    let round = scene.park();
    scene.answer(FIRST_CONNECTION, "c");
    let second = CallFailure::new(ErrorCode::CallCancelled, "a second answer".to_owned());
    let effects = scene.realm.call_answered(
        &TAB.into(),
        FIRST_CONNECTION,
        &"c".into(),
        Err(second),
        scene.now,
    );
    scene.apply(effects);
    assert!(scene.resume(round, vec![accept_response("a")]));
    assert_eq!(scene.call_outcomes(), [("c".to_owned(), None)]);
}

#[test]
fn an_unresumed_parked_call_is_cancelled_in_the_page() {
    let mut scene = Harness::with_client(r#"{"elicitation":{}}"#);
    scene.ask(vec![elicitation("a")]);
    let round = scene.park();
    scene.advance_to(599.0);
    assert!(scene.call_outcomes().is_empty());
    scene.advance_to(600.0);
    assert_eq!(scene.sent_types(FIRST_CONNECTION), ["call-cancel"]);
    assert!(!scene.resume(round, vec![accept_response("a")]));
    assert!(scene.realm.calls.is_empty());
}

#[test]
fn a_parked_call_ends_with_its_page() {
    let mut scene = Harness::with_client(r#"{"elicitation":{}}"#);
    scene.ask(vec![elicitation("a")]);
    let round = scene.park();
    scene.disconnect(FIRST_CONNECTION, Disconnect::DocumentGone);
    assert!(!scene.resume(round, vec![accept_response("a")]));
    assert!(scene.realm.calls.is_empty());
}

#[test]
fn answers_that_came_with_the_call_are_used_by_key() {
    let wrong = ClientResponse {
        result: Some(raw("7")),
        ..accept_response("b")
    };
    let answers = vec![accept_response("a"), wrong, accept_response("unasked")];
    let mut scene = Harness::with_responses(r#"{"elicitation":{}}"#, answers);
    scene.ask(vec![elicitation("a"), elicitation("b")]);
    assert_eq!(scene.client_responses(), [("a".to_owned(), None)]);
    let open = scene.realm.take_client_requests(&"c".into());
    assert_eq!(open.len(), 1);
    assert_eq!(open[0].key, "b");
}

#[test]
fn a_reconnected_page_repeats_requests_and_gets_the_same_responses() {
    let mut scene = Harness::with_client(r#"{"elicitation":{}}"#);
    scene.ask(vec![elicitation("a"), elicitation("b")]);
    let _ = scene.realm.take_client_requests(&"c".into());
    scene.disconnect(FIRST_CONNECTION, Disconnect::ConnectionLost);
    scene.client_answers(accept_response("a"));
    assert!(scene.effects.is_empty());
    scene.connect(SECOND_CONNECTION);
    scene.ask(vec![elicitation("a"), elicitation("b")]);
    assert_eq!(scene.client_responses(), [("a".to_owned(), None)]);
    assert!(scene.realm.take_client_requests(&"c".into()).is_empty());
}

#[test]
fn cancelling_during_a_client_request_ends_the_call_completely() {
    let mut scene = Harness::with_client(r#"{"elicitation":{}}"#);
    scene.ask(vec![elicitation("a")]);
    let effects = scene
        .realm
        .call_cancelled(&"c".into(), "cancelled", scene.now);
    scene.apply(effects);
    assert_eq!(scene.sent_types(FIRST_CONNECTION), ["call-cancel"]);
    assert!(scene.realm.calls.is_empty());
    scene.client_answers(accept_response("a"));
    assert!(scene.effects.is_empty());
}

#[test]
fn requests_per_call_are_limited_and_repeats_count() {
    let mut scene = Harness::with_client(r#"{"elicitation":{}}"#);
    for n in 0..MAX_REQUESTS_PER_CALL / 2 {
        let key = n.to_string();
        scene.ask(vec![elicitation(&key)]);
        scene.client_answers(accept_response(&key));
        scene.ask(vec![elicitation(&key)]);
        assert_eq!(scene.client_responses(), [(key, None)]);
    }
    let refused = Some(ErrorCode::ClientRequestFailed);
    scene.ask(vec![elicitation("more"), elicitation("0")]);
    let expected = ["more", "0"].map(|key| (key.to_owned(), refused));
    assert_eq!(scene.client_responses(), expected);
    let long = "k".repeat(MAX_REQUEST_KEY_BYTES + 1);
    scene.ask(vec![elicitation(&long)]);
    assert_eq!(scene.client_responses(), [(long, refused)]);
    assert!(!scene.has_client_requests());
}

#[test]
fn pending_request_bytes_are_limited() {
    let mut scene = Harness::with_client(r#"{"sampling":{}}"#);
    let large = |key: &str, bytes| {
        let params = format!(r#"{{"systemPrompt":"{}"}}"#, "x".repeat(bytes));
        request(key, "sampling/createMessage", &params)
    };
    let half = MAX_PENDING_REQUEST_BYTES / 2;
    scene.ask(vec![large("a", half), large("b", half)]);
    let refused = Some(ErrorCode::ClientRequestFailed);
    assert_eq!(scene.client_responses(), [("b".to_owned(), refused)]);
    scene.client_answers(ClientResponse {
        result: Some(raw(r#"{"role":"assistant","content":{}}"#)),
        ..accept_response("a")
    });
    scene.ask(vec![large("c", half)]);
    assert!(scene.has_client_requests() && scene.client_responses().is_empty());
}

/// Repeated requests for a large response must not fill the outbox of the page.
#[test]
fn client_response_bytes_are_limited_per_call() {
    let mut scene = Harness::with_client(r#"{"elicitation":{}}"#);
    scene.ask(vec![elicitation("a")]);
    let quarter = "x".repeat(MAX_CLIENT_RESPONSE_BYTES / 4);
    scene.client_answers(ClientResponse {
        result: Some(raw(&format!(
            r#"{{"action":"accept","content":{{"v":"{quarter}"}}}}"#
        ))),
        ..accept_response("a")
    });
    scene.ask((0..4).map(|_| elicitation("a")).collect());
    let errors: Vec<_> = scene
        .client_responses()
        .into_iter()
        .map(|(_, error)| error)
        .collect();
    let refused = Some(ErrorCode::ClientRequestFailed);
    assert_eq!(errors, [None, None, refused, refused]);
}

/// A parked completion would wait forever, because MCP clients cannot resume a completion.
#[test]
fn a_completion_cannot_send_client_requests() {
    let mut scene = Harness::with_client(r#"{"elicitation":{}}"#);
    let mut call = new_call("completion", tool("echo"));
    call.context = scene.realm.calls[&CallId::from("c")].context.clone();
    call.request = PageRequest::Completion {
        reference: tool("echo").item(),
        argument: bridge_protocol::Argument {
            name: "a".to_owned(),
            value: String::new(),
        },
        arguments: std::collections::BTreeMap::new(),
    };
    let effects = scene.realm.call_requested(&TAB.into(), call, scene.now);
    scene.apply(effects.unwrap());
    let asked = vec![elicitation("a")];
    let call = "completion".into();
    let effects = scene.realm.client_requests_received(
        &TAB.into(),
        FIRST_CONNECTION,
        &call,
        asked,
        scene.now,
    );
    scene.apply(effects);
    let refused = Some(ErrorCode::ClientCapabilityMissing);
    assert_eq!(scene.client_responses(), [("a".to_owned(), refused)]);
    assert!(!scene.has_client_requests());
}
