//! Tools whose schemas are those of libraries, in a page that esbuild has bundled.

use e2e::{Browser, Era, FolderSite, McpClient, NodeProject, TestBed, Transport};
use serde_json::{Value, json};

/// Libraries whose defaults and transforms reach the handler. TypeBox has none in a schema.
const TRANSFORMING: [&str; 4] = ["zod", "zod_mini", "valibot", "arktype"];

#[tokio::test]
async fn schemas_of_libraries_validate_and_transform_calls() {
    let bed = TestBed::bridge().await;
    let project = NodeProject::copy_of("schema-app");
    project.bundle_with_sdk().await;
    let site = FolderSite::start(project.path().to_owned()).await;
    let browser = Browser::open().await;
    let (bridge, token) = (bed.url(), bed.token());
    browser
        .goto(&format!("{}?bridge={bridge}&token={token}", site.url()))
        .await;
    let mut client = McpClient::connect(&bed, Transport::Http, Era::Discover).await;
    client
        .wait_for_tools("it has all libraries", |tools| {
            TRANSFORMING
                .iter()
                .chain(&["typebox"])
                .all(|name| tools.iter().any(|it| it == name))
        })
        .await;

    for schema in client.input_schemas().await {
        assert!(jsonschema::meta::is_valid(&schema), "{schema}");
    }
    for library in TRANSFORMING.into_iter().chain(["typebox"]) {
        let call = |arguments| client.call(library, arguments);
        let sent = json!({ "title": "Milk", "tags": "a,b" });
        let result = result_of(&call(sent.clone()).await.unwrap());
        let expected = if library == "typebox" {
            sent
        } else {
            json!({ "title": "Milk", "column": "todo", "tags": ["a", "b"] })
        };
        assert_eq!(result["structuredContent"], expected, "{library}: {result}");

        // The bridge rejects violations that JSON Schema can express, with the path and the rule.
        let result = result_of(&call(json!({ "title": "Milk" })).await.unwrap());
        assert_eq!(
            result["_meta"]["mcp-web/error"]["code"], "InvalidArguments",
            "{library}"
        );
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(
            text.contains("tags") && text.contains("required"),
            "{library}: {text}"
        );

        // The rest is refused by the library in the page.
        let digits = json!({ "title": "Milk 2", "tags": "" });
        let result = result_of(&call(digits).await.unwrap());
        assert_eq!(
            result["_meta"]["mcp-web/error"]["code"], "InvalidArguments",
            "{library}"
        );
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("/title"), "{library}: {text}");
    }
}

fn result_of(result: &impl serde::Serialize) -> Value {
    serde_json::to_value(result).unwrap()
}
