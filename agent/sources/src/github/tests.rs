//! The fixtures are, with the addresses of what they are from:
//! - `octokit_*.json`: recorded responses of `@octokit/fixtures` 23.1.2 (MIT), each with its source.
//! - `search_code.json`: shortened from <https://docs.github.com/rest/search/search#search-code>, with
//!   a text match as of <https://docs.github.com/rest/search/search#text-match-metadata>.
//! - `pull_requests.json`: shortened from
//!   <https://docs.github.com/rest/pulls/pulls#list-pull-requests>.
//! - `file.json`: from <https://docs.github.com/rest/repos/contents#get-repository-content>, with a
//!   text of our own.

mod allowed_repositories;

use std::time::{SystemTime, UNIX_EPOCH};

use agent_tools::CallStatus;
use axum::response::Response;
use bridge_schema::Effort;

use super::*;
use crate::http_api::fake_api::{FakeApi, json_response, response_with};

const SEARCH_CODE: &str = include_str!("fixtures/search_code.json");
const PULL_REQUESTS: &str = include_str!("fixtures/pull_requests.json");
const FILE: &str = include_str!("fixtures/file.json");

fn open(text: &str) -> Result<Github, String> {
    Github::open("gh", &toml::from_str::<GithubSettings>(text).unwrap(), None)
}

/// A source that may use these repositories of a server.
fn github(server: &FakeApi, repositories: &[&str]) -> Github {
    let url = &server.url;
    let mut text = format!("url = '{url}'\ntoken = 'hush-hush'\n");
    if !repositories.is_empty() {
        text.push_str(&format!("repositories = {repositories:?}"));
    }
    open(&text).unwrap()
}

async fn call(source: &Github, tool: &str, arguments: Value) -> CallOutput {
    call_as("ada", source, tool, arguments).await
}

async fn call_as(user: &str, source: &Github, name: &str, arguments: Value) -> CallOutput {
    let context = SourceContext {
        user: user.to_owned(),
    };
    let tools = source.tools();
    let tool = tools.iter().find(|tool| tool.name == name).unwrap();
    let checked = tool.arguments.try_validate(&arguments, Effort::Inline);
    assert!(checked.unwrap().is_ok(), "{arguments}");
    let Value::Object(arguments) = arguments else {
        panic!("no arguments");
    };
    source.call(name, arguments, &context).await
}

/// Calls a tool with an API that has one response.
async fn call_with(response: Response, tool: &str, arguments: Value) -> CallOutput {
    let server = FakeApi::start([response]).await;
    call(&github(&server, &[]), tool, arguments).await
}

/// Returns the response of a fixture, with the request that it answers.
fn recorded(fixture: &str) -> (Response, String) {
    let fixture: Value = serde_json::from_str(fixture).unwrap();
    let headers = fixture["headers"].as_object().unwrap().iter();
    let headers: Vec<_> = headers
        .filter(|(name, _)| *name != "content-type")
        .map(|(name, value)| (name.as_str(), value.as_str().unwrap()))
        .collect();
    let status = fixture["status"].as_u64().unwrap().try_into().unwrap();
    let response = response_with(status, &headers, fixture["response"].to_string());
    let method = fixture["method"].as_str().unwrap().to_uppercase();
    (
        response,
        format!("{method} {}", fixture["path"].as_str().unwrap()),
    )
}

fn found(output: &CallOutput) -> Value {
    assert_eq!(output.outcome, CallStatus::Ok, "{}", output.text);
    serde_json::from_str(&output.text).unwrap()
}

#[tokio::test]
async fn code_is_searched_as_documented() {
    let server = FakeApi::start([json_response(200, SEARCH_CODE)]).await;
    let arguments = json!({ "query": "addClass in:file language:js", "count": 30 });
    let output = call(&github(&server, &[]), "search_code", arguments).await;
    let url = "https://github.com/jquery/jquery/blob/825ac3773694e0cd23ee74895fd5aeb535b27da4/src/\
               attributes/classes.js";
    let expected = json!([{ "repository": "jquery/jquery", "path": "src/attributes/classes.js",
        "url": url, "fragment": "jQuery.fn.extend( {\n\taddClass: function( value ) {" }]);
    assert_eq!(found(&output), expected);
    let request = server.request();
    assert_eq!(
        request.target,
        "/search/code?q=addClass+in%3Afile+language%3Ajs&per_page=30"
    );
    assert_eq!(
        request.header("accept"),
        "application/vnd.github.text-match+json"
    );
    assert_eq!(request.header("x-github-api-version"), "2022-11-28");
    assert_eq!(request.header("authorization"), "Bearer hush-hush");
    assert!(request.header("user-agent").starts_with("mcp-web-agent/"));
}

#[tokio::test]
async fn a_file_is_read_at_a_ref() {
    let server = FakeApi::start([json_response(200, FILE)]).await;
    let source = open(&format!("url = '{}/api/v3'", server.url)).unwrap();
    let arguments = json!({ "repository": "octokit/octokit.rb", "path": "/docs/a b?#.md",
        "ref": "feature/x&y" });
    let output = call(&source, "get_file", arguments).await;
    assert_eq!(
        output.text,
        "# Hello World\n\nThe tide rises — the tide falls.\n"
    );
    let request = server.request();
    assert_eq!(
        request.target,
        "/api/v3/repos/octokit/octokit.rb/contents/docs/a%20b%3F%23.md?ref=feature%2Fx%26y"
    );
    assert!(!request.headers.contains_key("authorization"));
}

#[tokio::test]
async fn files_that_are_not_text_or_larger_than_1_mib_are_reported() {
    let content = |bytes: &[u8]| {
        json!({ "type": "file", "encoding": "base64", "size": bytes.len(),
            "content": STANDARD.encode(bytes) })
    };
    let large = content(&vec![b'a'; MAX_FILE_BYTES + 1]);
    let (directory, _) = recorded(include_str!("fixtures/octokit_directory.json"));
    let json = |body: Value| json_response(200, &body.to_string());
    let not_sent = json!({ "type": "file", "encoding": "none", "size": 5000000, "content": "" });
    let broken = json!({ "type": "file", "encoding": "base64", "content": "%" });
    for (response, expected) in [
        (json(large), "The file has 1048577 bytes"),
        (json(not_sent), "The file has 5000000 bytes"),
        (json(content(b"\xff\xfe")), "not text in UTF-8"),
        (json(broken), "broken file"),
        (
            json(json!({ "type": "submodule", "size": 0 })),
            "a submodule",
        ),
        (directory, "a directory"),
    ] {
        let arguments = json!({ "repository": "o/r", "path": "a" });
        let output = call_with(response, "get_file", arguments).await;
        assert_eq!(output.outcome, CallStatus::ToolError);
        assert!(output.text.contains(expected), "{}", output.text);
    }
    let largest = json(content(&vec![b'a'; MAX_FILE_BYTES]));
    let arguments = json!({ "repository": "o/r", "path": "a" });
    let output = call_with(largest, "get_file", arguments.clone()).await;
    assert_eq!(output.text.len(), MAX_FILE_BYTES);
    let hidden = json(content("let a = \u{202e}1;\u{e0041}\n".as_bytes()));
    let output = call_with(hidden, "get_file", arguments).await;
    assert_eq!(
        output.text,
        "let a = 1;\n\n[Invisible characters were left out.]"
    );
}

#[tokio::test]
async fn pull_requests_are_listed() {
    let server = FakeApi::start([json_response(200, PULL_REQUESTS)]).await;
    let arguments = json!({ "repository": "octocat/Hello-World", "state": "all" });
    let output = call(&github(&server, &[]), "list_pull_requests", arguments).await;
    let expected = json!([{ "number": 1347, "title": "Amazing new feature", "state": "open",
        "draft": false, "author": "octocat", "head": "octocat:new-topic", "base": "master",
        "updated": "2011-01-26T19:01:12Z", "url": "https://github.com/octocat/Hello-World/pull/1347" }]);
    assert_eq!(found(&output), expected);
    let target = server.request().target;
    assert_eq!(
        target,
        "/repos/octocat/Hello-World/pulls?state=all&per_page=20"
    );

    let none = call_with(
        json_response(200, "[]"),
        "list_pull_requests",
        json!({ "repository": "o/r" }),
    );
    assert_eq!(none.await.text, "[None were found.]");
}

#[tokio::test]
async fn an_issue_is_created() {
    let (response, request) = recorded(include_str!("fixtures/octokit_create_issue.json"));
    let server = FakeApi::start([response]).await;
    let arguments = json!({ "repository": "octokit-fixture-org/add-labels-to-issue",
        "title": "Issue without a label", "labels": ["bug"] });
    let output = call(&github(&server, &[]), "create_issue", arguments).await;
    assert_eq!(output.outcome, CallStatus::Ok);
    let url = "https://github.com/octokit-fixture-org/add-labels-to-issue/issues/1";
    let expected = format!(r#"The issue was created: [{{"number":1,"url":"{url}"}}]"#);
    assert_eq!(output.text, expected);
    let sent = server.request();
    assert_eq!(format!("{} {}", sent.method, sent.target), request);
    let body = json!({ "title": "Issue without a label", "body": null, "labels": ["bug"] });
    assert_eq!(sent.json(), body);
}

#[tokio::test]
async fn a_foreign_response_is_not_an_empty_list() {
    for (tool, body) in [
        ("search_code", "{}"),
        ("list_pull_requests", r#"{"message":"x"}"#),
    ] {
        let arguments = json!({ "repository": "o/r" });
        let mut arguments = arguments.as_object().unwrap().clone();
        if tool == "search_code" {
            arguments.insert("query".to_owned(), "x".into());
        }
        let output = call_with(json_response(200, body), tool, arguments.into()).await;
        assert_eq!(output.outcome, CallStatus::Unavailable, "{}", output.text);
    }
}

#[tokio::test]
async fn an_issue_that_may_exist_must_be_checked() {
    let arguments = json!({ "repository": "o/r", "title": "t" });
    for response in [json_response(502, "{}"), json_response(201, "<html>")] {
        let output = call_with(response, "create_issue", arguments.clone()).await;
        assert_eq!(output.outcome, CallStatus::Unavailable);
        assert!(
            output.text.contains("check before you request it again"),
            "{}",
            output.text
        );
    }
}

#[tokio::test]
async fn errors_of_the_api_are_reported_with_their_message() {
    let arguments = json!({ "repository": "o/r", "path": "a" });
    for (fixture, expected) in [
        (
            include_str!("fixtures/octokit_not_found.json"),
            "Not found (HTTP 404): it does not exist",
        ),
        (
            include_str!("fixtures/octokit_validation_failed.json"),
            "GitHub does not accept the request (HTTP 422): Validation Failed",
        ),
    ] {
        let (response, _) = recorded(fixture);
        let output = call_with(response, "get_file", arguments.clone()).await;
        assert_eq!(output.outcome, CallStatus::ToolError);
        assert!(output.text.contains(expected), "{}", output.text);
    }
    let body = r#"{"message":"Resource not accessible by personal access token","status":"403"}"#;
    let output = call_with(json_response(403, body), "get_file", arguments).await;
    assert_eq!(output.outcome, CallStatus::ToolError);
    assert!(
        output.text.contains("(HTTP 403): Resource not accessible"),
        "{}",
        output.text
    );
}

#[tokio::test]
async fn a_renamed_repository_is_not_followed() {
    let (response, request) = recorded(include_str!("fixtures/octokit_renamed_repository.json"));
    assert_eq!(request, "GET /repos/octokit-fixture-org/rename-repository");
    let server = FakeApi::start([response]).await;
    let arguments = json!({ "repository": "octokit-fixture-org/rename-repository" });
    let source = github(&server, &["octokit-fixture-org/*"]);
    let output = call(&source, "list_pull_requests", arguments).await;
    assert_eq!(output.outcome, CallStatus::ToolError);
    assert!(output.text.contains("renamed or moved"), "{}", output.text);
    server.request();
}

#[tokio::test]
async fn limits_tell_the_wait() {
    let reset = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs()
        + 100;
    let reset = reset.to_string();
    let primary = [
        ("x-ratelimit-remaining", "0"),
        ("x-ratelimit-reset", reset.as_str()),
    ];
    let secondary = "You have exceeded a secondary rate limit. Please wait a few minutes before you \
                     try again.";
    let remaining = [("x-ratelimit-remaining", "4999")];
    for (status, headers, message, waits) in [
        (403, primary.as_slice(), "API rate limit exceeded", 95..=100),
        (429, &primary, "API rate limit exceeded", 95..=100),
        (403, &[("retry-after", "30")], secondary, 30..=30),
        (403, &remaining, secondary, 60..=60),
        (429, &[], "", 60..=60),
    ] {
        let body = json!({ "message": message }).to_string();
        let response = response_with(status, headers, body);
        let output = call_with(
            response,
            "get_file",
            json!({ "repository": "o/r", "path": "a" }),
        )
        .await;
        assert_eq!(output.outcome, CallStatus::RateLimited, "{}", output.text);
        let (_, wait) = output.text.split_once("retryAfter: ").unwrap();
        let wait: u64 = wait.split_once(" s.").unwrap().0.parse().unwrap();
        assert!(waits.contains(&wait), "{}", output.text);
    }
}

#[tokio::test]
async fn a_low_quota_is_reported_with_the_result() {
    let reset = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs()
        + 100;
    let reset = reset.to_string();
    for (remaining, is_low) in [("1", true), ("2", false), ("x", false)] {
        let headers = [
            ("x-ratelimit-limit", "10"),
            ("x-ratelimit-remaining", remaining),
            ("x-ratelimit-reset", reset.as_str()),
        ];
        let response = response_with(200, &headers, SEARCH_CODE.to_owned());
        let output = call_with(response, "search_code", json!({ "query": "x" })).await;
        let expected = "\n[Only 1 requests of this kind are left for the next ";
        assert_eq!(output.text.contains(expected), is_low, "{}", output.text);
    }
}

#[derive(Debug)]
struct TokensByUser;

impl TokenProvider for TokensByUser {
    fn token(&self, user: &str) -> Option<String> {
        match user {
            "ada" => Some("token-of-ada".to_owned()),
            "eve" => Some("two\nlines".to_owned()),
            _ => None,
        }
    }
}

#[tokio::test]
async fn each_user_has_a_token() {
    let answers = (0..2).map(|_| json_response(200, "[]"));
    let server = FakeApi::start(answers).await;
    let source = github(&server, &[]).with_tokens(Arc::new(TokensByUser));
    let mut outcomes = Vec::new();
    for user in ["ada", "bob", "eve"] {
        let arguments = json!({ "repository": "o/r" });
        let output = call_as(user, &source, "list_pull_requests", arguments).await;
        assert!(!output.text.contains("two"), "{}", output.text);
        outcomes.push(output.outcome);
    }
    assert_eq!(
        outcomes,
        [CallStatus::Ok, CallStatus::Ok, CallStatus::ToolError]
    );
    let requests = server.requests();
    let tokens: Vec<_> = requests
        .iter()
        .map(|it| it.header("authorization"))
        .collect();
    assert_eq!(tokens, ["Bearer token-of-ada", ""]);
}

#[test]
fn settings_are_checked_and_do_not_show_the_token() {
    for (text, expected) in [
        ("repositories = []", "`repositories` is empty"),
        (
            "repositories = ['acme']",
            "`acme` in `repositories` must be `owner/name`",
        ),
        ("repositories = ['*/*']", "must be `owner/name`"),
        ("repositories = ['*/x']", "must be `owner/name`"),
        ("repositories = ['ac*/x']", "must be `owner/name`"),
        ("repositories = ['acme/x/y']", "must be `owner/name`"),
        ("repositories = ['acme/']", "must be `owner/name`"),
        ("repositories = ['acme/[']", "must be `owner/name`"),
        ("url = 'github.example'", "`url` must be"),
        (
            "token_file = '/no/such/file'",
            "`token_file` /no/such/file: it cannot be read",
        ),
        (
            "token = 'hush-hush'\ntoken_file = 'x'",
            "both `token` and `token_file`",
        ),
    ] {
        let error = open(text).unwrap_err();
        assert!(
            error.contains(expected) && !error.contains("hush"),
            "{error}"
        );
    }
    let source = open("token = 'hush-hush'\nrepositories = ['acme/*', 'octo/one']").unwrap();
    assert!(!format!("{source:?}").contains("hush"), "{source:?}");
    let prompt = source.prompt().unwrap();
    assert!(
        prompt.contains("only of the repositories acme/*, octo/one"),
        "{prompt}"
    );
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("token"), "hush-hush\n").unwrap();
    let settings: GithubSettings = toml::from_str("token_file = 'token'").unwrap();
    let source = Github::open("gh", &settings.resolved(folder.path()), None).unwrap();
    assert_eq!(source.tokens.token("ada").as_deref(), Some("hush-hush"));
}

#[test]
fn only_an_issue_changes_something() {
    let tools = open("").unwrap().tools();
    let effects: Vec<_> = tools
        .iter()
        .map(|it| (it.name.as_str(), it.class.effect))
        .collect();
    let expected = [
        ("search_code", ToolEffect::Read),
        ("get_file", ToolEffect::Read),
        ("list_pull_requests", ToolEffect::Read),
        ("create_issue", ToolEffect::Write),
    ];
    assert_eq!(effects, expected);
    assert!(tools.iter().all(|tool| tool.class.is_open_world));
}
