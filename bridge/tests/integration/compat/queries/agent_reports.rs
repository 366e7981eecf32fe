//! Reports of the agent of an mcp-web 0.1 page.

use super::*;

#[tokio::test]
async fn completing_a_query_that_requires_a_response_tool_is_400_and_fails_it() {
    let (bridge, _agent, mut page, query) =
        start_query(json!({ "responseTool": { "name": "answer" } })).await;
    let (status, body) = query
        .report(&bridge, "complete", json!({ "message": "42" }))
        .await;
    let error = "Query specified responseTool 'answer' but agent called queryComplete() instead";
    assert_eq!((status, body), (400, json!({ "error": error })));
    assert_eq!(page.recv().await, query_failure(UUID, error));
}

#[tokio::test]
async fn an_invalid_report_body_is_400() {
    let (bridge, _agent, mut page, query) = start_query(json!({})).await;
    let invalid = (400, json!({ "error": "Invalid request body" }));
    let bodies = [
        "",
        "{",
        "[]",
        "[\"m\"]",
        "null",
        "{}",
        r#"{"message":1,"error":null}"#,
    ];
    for report_kind in ["progress", "complete", "fail"] {
        for body in bodies {
            let report = report_request(&bridge, UUID, report_kind).body(body);
            assert_eq!(send_for_json(report).await, invalid, "{report_kind} {body}");
        }
    }
    for body in ["{", "[]", r#"{"reason":1}"#] {
        let report = report_request(&bridge, UUID, "cancel").body(body);
        assert_eq!(send_for_json(report).await, invalid, "cancel {body}");
    }
    // The query is still running, and `cancel` needs no body.
    query
        .report_ok(&bridge, "progress", json!({ "message": "on" }))
        .await;
    assert_eq!(page.recv().await["message"], "on");
    let cancel = send_for_json(report_request(&bridge, UUID, "cancel")).await;
    assert_eq!(cancel, (200, json!({ "success": true })));
    assert_eq!(
        page.recv().await,
        json!({ "type": "query_cancel", "uuid": UUID })
    );
}

#[tokio::test]
async fn fail_and_cancel_reports_carry_their_reason() {
    let (bridge, mut agent, mut page, query) = start_query(json!({})).await;
    query
        .report_ok(&bridge, "fail", json!({ "error": "no model" }))
        .await;
    assert_eq!(page.recv().await, query_failure(UUID, "no model"));
    let second = uuid(2);
    let query = send_query(&mut agent, &mut page, &second, json!({})).await;
    query
        .report_ok(&bridge, "cancel", json!({ "reason": "enough" }))
        .await;
    let cancelled = json!({ "type": "query_cancel", "uuid": second, "reason": "enough" });
    assert_eq!(page.recv().await, cancelled);
}

#[tokio::test]
async fn reports_on_finished_unknown_and_foreign_queries_are_404() {
    let (bridge, _agent, mut page, query) = start_query(json!({})).await;
    let not_found = (404, json!({ "error": "QueryNotFound" }));
    let body = json!({ "message": "m", "error": "e" });
    for report_kind in ["progress", "complete", "fail", "cancel"] {
        for unknown in ["unknown", &*uuid(7)] {
            let report = report_request(&bridge, unknown, report_kind).json(&body);
            assert_eq!(send_for_json(report).await, not_found, "{report_kind}");
        }
        let foreign = report_request(&bridge, UUID, report_kind).json(&body);
        let foreign = foreign.bearer_auth(OTHER_TOKEN);
        assert_eq!(send_for_json(foreign).await, not_found, "{report_kind}");
    }
    // The token of the page is accepted.
    let own = report_request(&bridge, UUID, "complete")
        .json(&body)
        .bearer_auth(TOKEN);
    assert_eq!(send_for_json(own).await.0, 200);
    assert_eq!(page.recv().await["type"], "query_complete");
    for report_kind in ["progress", "complete", "fail", "cancel"] {
        assert_eq!(
            query.report(&bridge, report_kind, body.clone()).await,
            not_found,
            "{report_kind}"
        );
    }
}

/// The uuid of a query is a credential only for agents that receive no token: those of pages of
/// mcp-web 0.1.
#[tokio::test]
async fn reports_on_queries_of_other_pages_need_the_token_of_the_query() {
    let mut agent = MockAgent::start().await;
    let bridge = start_bridge_with(agent_config(&agent)).await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    page.send_json(query_message(UUID, json!({}))).await;
    let query = agent.accept_query().await;
    let body = json!({ "message": "m", "error": "e" });
    for report_kind in ["progress", "complete", "fail", "cancel"] {
        let report = || report_request(&bridge, UUID, report_kind).json(&body);
        let (status, missing) = send_for_json(report()).await;
        assert_eq!(
            (status, &missing["error"]),
            (401, &json!("MissingAuthentication"))
        );
        for foreign in [TOKEN, OTHER_TOKEN, "mcp-web-query-none"] {
            let refused = send_for_json(report().bearer_auth(foreign)).await;
            assert_eq!(
                refused,
                (404, json!({ "error": "QueryNotFound" })),
                "{report_kind}"
            );
        }
    }
    let params = json!({ "name": "echo", "arguments": {} });
    let call = request_as_agent(&bridge, UUID, "tools/call", params).await;
    assert_eq!(call["error"]["message"], "MissingAuthentication", "{call}");
    query
        .report_ok(&bridge, "complete", json!({ "message": "done" }))
        .await;
}

#[tokio::test]
async fn incomplete_query_messages_are_ignored() {
    let (bridge, _agent, mut page, query) = start_query(json!({})).await;
    for incomplete in [
        json!({ "type": "query_cancel" }),
        json!({ "type": "query" }),
        json!({ "type": "query", "uuid": uuid(2) }),
        json!({ "type": "query_cancel", "uuid": uuid(3) }),
        json!({ "type": "query_cancel", "uuid": null }),
    ] {
        page.send_json(incomplete).await;
    }
    query
        .report_ok(&bridge, "progress", json!({ "message": "on" }))
        .await;
    assert_eq!(page.recv().await["message"], "on");
}

#[tokio::test]
async fn streamed_progress_is_sent_as_text_and_closing_the_page_ends_the_stream() {
    let mut agent = MockAgent::start().await;
    let bridge = start_bridge_with(agent_config(&agent)).await;
    let mut page = connect_page(&bridge, "asks").await;
    page.send_json(query_message(UUID, json!({}))).await;
    let events = agent.next_request().await.respond_with_stream().await;
    assert_eq!(page.recv().await["type"], "query_accepted");
    for content in [
        json!({ "type": "thinking", "text": "hm" }),
        json!({ "type": "tool-started", "id": "1", "tool": "t", "arguments": {} }),
        json!({ "type": "text", "text": "Two cards" }),
    ] {
        let progress = json!({ "content": content });
        events.send_event("query_progress", progress).await;
    }
    for message in ["Calling t", "Two cards"] {
        let progress = json!({ "type": "query_progress", "uuid": UUID, "message": message });
        assert_eq!(page.recv().await, progress);
    }
    drop(page);
    events.wait_closed().await;
}
