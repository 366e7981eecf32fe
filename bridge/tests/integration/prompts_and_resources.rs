//! Prompts, resources, resource templates, completion and subscriptions, in both protocol eras.

use bridge_protocol::{BridgeToPage, ErrorCode, Kind};
use serde_json::{Value, json};

use crate::kit::*;

async fn page_with_everything(bridge: &bridge::ServerHandle) -> Page {
    let mut page = Page::with_tools(bridge, "s", &[]).await;
    let prompt = json!({ "name": "review", "title": "Review",
        "arguments": [{ "name": "card", "required": true }], "_meta": { "z": 1, "a": 2 } });
    let registered = page
        .register_items(&[
            (Kind::Prompt, prompt),
            (
                Kind::Resource,
                json!({ "uri": "board://cards", "name": "cards", "mimeType": "application/json" }),
            ),
            (
                Kind::ResourceTemplate,
                json!({ "uriTemplate": "board://cards/{id}", "name": "card" }),
            ),
            (Kind::Resource, json!({ "uri": "no uri", "name": "n" })),
        ])
        .await;
    assert_eq!(registered.items.len(), 3);
    assert_eq!(registered.errors[0].code, ErrorCode::DefinitionInvalid);
    page
}

/// Responds to the next request with this result, and returns the request.
async fn serve(page: &mut Page, result: Value) -> Value {
    let (id, message) = page
        .recv_matching(|message| match &message {
            BridgeToPage::PromptGet(call) => Some((call.request_id.clone(), message)),
            BridgeToPage::ResourceRead(call) => Some((call.request_id.clone(), message)),
            BridgeToPage::Completion(call) => Some((call.request_id.clone(), message)),
            _ => None,
        })
        .await;
    page.respond_to(&id, result).await;
    serde_json::from_str(&message.encode()).unwrap()
}

/// The responses to a request in both protocol eras, without the members that 2026-07-28 adds.
async fn request_in_both_eras(
    bridge: &bridge::ServerHandle,
    method: &str,
    params: Value,
) -> [Value; 2] {
    let client = McpClient::connect(bridge, TOKEN).await;
    let old = client.request(method, params.clone()).await;
    let mut new = StatelessClient::new(bridge).request(method, params).await;
    if let Some(result) = new["result"].as_object_mut() {
        for added in ["resultType", "ttlMs", "cacheScope", "_meta"] {
            result.remove(added);
        }
    }
    [old, new]
}

#[tokio::test]
async fn prompts_resources_and_templates_are_listed_unchanged() {
    let bridge = start_bridge().await;
    let _page = page_with_everything(&bridge).await;
    for answer in request_in_both_eras(&bridge, "prompts/list", json!({})).await {
        let prompts = &answer["result"]["prompts"];
        assert_eq!(prompts.as_array().unwrap().len(), 1, "{answer}");
        assert_eq!(prompts[0]["title"], "Review");
        assert_eq!(prompts[0]["_meta"].to_string(), r#"{"z":1,"a":2}"#);
    }
    for answer in request_in_both_eras(&bridge, "resources/list", json!({})).await {
        let resources = answer["result"]["resources"].as_array().unwrap();
        let uris: Vec<_> = resources
            .iter()
            .map(|r| r["uri"].as_str().unwrap())
            .collect();
        assert_eq!(
            uris,
            ["sessions://list", "status://connection", "board://cards"]
        );
    }
    for answer in request_in_both_eras(&bridge, "resources/templates/list", json!({})).await {
        let templates = &answer["result"]["resourceTemplates"];
        assert_eq!(
            templates[0]["uriTemplate"], "board://cards/{id}",
            "{answer}"
        );
    }
}

#[tokio::test]
async fn prompts_are_rendered_by_the_page() {
    let bridge = start_bridge().await;
    let mut page = page_with_everything(&bridge).await;
    let messages = json!([{ "role": "user", "content": { "type": "text", "text": "Look at 7" } }]);
    let result = json!({ "description": "d", "messages": messages });
    let params = json!({ "name": "review", "arguments": { "card": "7" } });
    let handler = async {
        let request = serve(&mut page, result.clone()).await;
        serve(&mut page, result.clone()).await;
        request
    };
    let (answers, request) = tokio::join!(
        request_in_both_eras(&bridge, "prompts/get", params),
        handler
    );
    assert_eq!(request["arguments"], json!({ "card": "7" }));
    for answer in answers {
        assert_eq!(answer["result"], result, "{answer}");
    }
    let wrong = [
        (json!({ "name": "review" }), "needs the arguments card"),
        (json!({ "name": "nope" }), "there are review"),
        (
            json!({ "name": "review", "arguments": { "card": 7 } }),
            "string",
        ),
    ];
    for (params, expected) in wrong {
        for answer in request_in_both_eras(&bridge, "prompts/get", params.clone()).await {
            assert_eq!(answer["error"]["code"], -32602, "{answer}");
            let message = answer["error"]["message"].as_str().unwrap();
            assert!(message.contains(expected), "{message}");
        }
    }
}

#[tokio::test]
async fn resources_are_read_by_uri_and_by_template() {
    let bridge = start_bridge().await;
    let mut page = page_with_everything(&bridge).await;
    let cases = [
        ("board://cards", Value::Null, Value::Null),
        (
            "board://cards/a%20b",
            json!("board://cards/{id}"),
            json!({ "id": "a b" }),
        ),
    ];
    for (uri, template, variables) in cases {
        let blob = json!({ "contents": [{ "uri": uri, "mimeType": "image/png", "blob": "AAAA" }] });
        let handler = async {
            let request = serve(&mut page, blob.clone()).await;
            serve(&mut page, blob.clone()).await;
            request
        };
        let read = request_in_both_eras(&bridge, "resources/read", json!({ "uri": uri }));
        let (answers, request) = tokio::join!(read, handler);
        assert_eq!(request["uri"], uri);
        assert_eq!(request["uriTemplate"], template);
        assert_eq!(request["variables"], variables);
        for answer in answers {
            assert_eq!(answer["result"], blob, "{answer}");
        }
    }
    let [old, new] =
        request_in_both_eras(&bridge, "resources/read", json!({ "uri": "board://none" })).await;
    assert_eq!(old["error"]["code"], -32002, "{old}");
    assert_eq!(new["error"]["code"], -32602, "{new}");
    assert_eq!(new["error"]["data"]["uri"], "board://none");
}

#[tokio::test]
async fn builtin_resources_are_always_available() {
    let bridge = start_bridge().await;
    let read = |uri: &str| request_in_both_eras(&bridge, "resources/read", json!({ "uri": uri }));
    let content = |answer: &Value| -> Value {
        let text = answer["result"]["contents"][0]["text"].as_str().unwrap();
        serde_json::from_str(text).unwrap()
    };
    for answer in read("status://connection").await {
        assert_eq!(content(&answer)["connected"], false);
    }
    let _page = page_with_everything(&bridge).await;
    for answer in read("sessions://list").await {
        assert_eq!(content(&answer)[0]["session_id"], "s");
    }
}

#[tokio::test]
async fn completions_come_from_the_page_with_at_most_100_values() {
    let bridge = start_bridge().await;
    let mut page = page_with_everything(&bridge).await;
    let params = json!({ "ref": { "type": "ref/prompt", "name": "review" },
        "argument": { "name": "card", "value": "Wr" }, "context": { "arguments": { "a": "b" } } });
    let many: Vec<_> = (0..120).map(|n| n.to_string()).collect();
    let handler = async {
        let request = serve(&mut page, json!({ "values": many })).await;
        serve(
            &mut page,
            json!({ "values": ["Write"], "total": 1, "hasMore": false }),
        )
        .await;
        request
    };
    let complete = request_in_both_eras(&bridge, "completion/complete", params);
    let ([truncated, short], request) = tokio::join!(complete, handler);
    assert_eq!(
        request["ref"],
        json!({ "kind": "prompt", "name": "review" })
    );
    assert_eq!(
        request["argument"],
        json!({ "name": "card", "value": "Wr" })
    );
    assert_eq!(request["arguments"], json!({ "a": "b" }));
    let truncated = &truncated["result"]["completion"];
    assert_eq!(truncated["values"].as_array().unwrap().len(), 100);
    assert_eq!(
        (&truncated["total"], &truncated["hasMore"]),
        (&json!(120), &json!(true))
    );
    assert_eq!(
        short["result"]["completion"],
        json!({ "values": ["Write"], "total": 1, "hasMore": false })
    );

    let unknown = json!({ "ref": { "type": "ref/resource", "uri": "no://{such}" },
        "argument": { "name": "such", "value": "" } });
    for answer in request_in_both_eras(&bridge, "completion/complete", unknown).await {
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
}

#[tokio::test]
async fn resource_handler_errors_map_to_json_rpc_codes() {
    let bridge = start_bridge().await;
    let mut page = page_with_everything(&bridge).await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    let cases = [("HandlerFailed", -32603), ("ResourceNotFound", -32002)];
    for (code, expected) in cases {
        let handler = async {
            let id = page
                .recv_matching(|message| match message {
                    BridgeToPage::ResourceRead(call) => Some(call.request_id),
                    _ => None,
                })
                .await;
            page.send_json(json!({ "type": "call-error", "requestId": id, "code": code,
                "message": "thrown" }))
                .await;
        };
        let read = client.request("resources/read", json!({ "uri": "board://cards" }));
        let (answer, ()) = tokio::join!(read, handler);
        assert_eq!(answer["error"]["code"], expected, "{answer}");
    }
}

#[tokio::test]
async fn subscribers_of_both_eras_receive_updates_and_list_changes() {
    let bridge = start_bridge().await;
    let mut page = page_with_everything(&bridge).await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    let mut old = client.listen().await;
    let uri = json!({ "uri": "board://cards" });
    let subscribed = client.request("resources/subscribe", uri.clone()).await;
    assert_eq!(subscribed["result"], json!({}), "{subscribed}");
    let params = json!({ "notifications": { "promptsListChanged": true,
        "resourceSubscriptions": ["board://cards/7"] } });
    let stateless = StatelessClient::new(&bridge);
    let mut new = EventStream::new(stateless.send("subscriptions/listen", params).await);
    new.find_method("notifications/subscriptions/acknowledged")
        .await;
    let uris = page
        .recv_matching(|message| match message {
            BridgeToPage::Subscriptions(list) if list.uris.len() == 2 => Some(list.uris),
            _ => None,
        })
        .await;
    assert_eq!(uris, ["board://cards", "board://cards/7"]);

    for uri in ["board://cards", "board://cards/7"] {
        page.send_json(json!({ "type": "resource-updated", "uri": uri }))
            .await;
    }
    let updated = "notifications/resources/updated";
    assert_eq!(
        old.find_method(updated).await["params"]["uri"],
        "board://cards"
    );
    assert_eq!(
        new.find_method(updated).await["params"]["uri"],
        "board://cards/7"
    );

    // Each client receives the list changes to which it has subscribed.
    page.register_items(&[
        (Kind::Resource, json!({ "uri": "a:b", "name": "n" })),
        (Kind::Prompt, json!({ "name": "p" })),
    ])
    .await;
    old.find_method("notifications/prompts/list_changed").await;
    old.find_method("notifications/resources/list_changed")
        .await;
    let notification = new.next().await.unwrap();
    assert_eq!(
        notification["method"], "notifications/prompts/list_changed",
        "{notification}"
    );

    let unsubscribed = client.request("resources/unsubscribe", uri).await;
    assert_eq!(unsubscribed["result"], json!({}));
    let uris = page
        .recv_matching(|message| match message {
            BridgeToPage::Subscriptions(list) => Some(list.uris),
            _ => None,
        })
        .await;
    assert_eq!(uris, ["board://cards/7"]);
}

#[tokio::test]
async fn max_subscriptions_limits_the_subscriptions_of_a_client() {
    let mut config = test_config();
    config.mcp_sessions.max_subscriptions = 1;
    let bridge = start_bridge_with(config).await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    let subscribe = |uri: &str| client.request("resources/subscribe", json!({ "uri": uri }));
    assert_eq!(subscribe("a:1").await["result"], json!({}));
    let rejected = subscribe("a:2").await;
    let message = rejected["error"]["message"].as_str().unwrap();
    assert!(message.contains("max_subscriptions"), "{message}");
}
