//! Tests of entries, and of the values of their variables.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;

use super::super::expansion::ExpansionProblem;
use super::*;

fn parse_entry_of(entry: Value) -> Result<ServerDefinition, String> {
    ServerDefinition::parse(Path::new("/etc/mcp-servers.json"), "time", &entry)
}

fn definition(entry: Value) -> ServerDefinition {
    parse_entry_of(entry).unwrap()
}

fn map<const N: usize>(entries: [(&str, &str); N]) -> BTreeMap<String, String> {
    let entries = entries.map(|(name, text)| (name.to_owned(), text.to_owned()));
    BTreeMap::from(entries)
}

/// An environment that has some variables and files, whose values contain `hush`.
#[derive(Debug)]
struct TestVariables;

impl Variables for TestVariables {
    fn variable(&self, name: &str) -> Option<String> {
        let value = match name {
            "TOKEN" => "hush-1",
            "HOST" => "https://mcp.example.com",
            "EMPTY" => "",
            "LINES" => "hush\nhush",
            "REFERENCE" => "${TOKEN}",
            "HALF" => "$",
            "USER_URL" => "https://hush@mcp.example.com",
            _ => return None,
        };
        Some(value.to_owned())
    }

    fn file(&self, path: &Path) -> Result<String, String> {
        match path.to_str() {
            Some("/run/secret") => Ok("hush-2\n".to_owned()),
            Some("/run/windows") => Ok("hush-3\r\n".to_owned()),
            Some("/run/two-line-ends") => Ok("hush-4\n\n".to_owned()),
            Some("/run/reference") => Ok("${TOKEN}\n".to_owned()),
            _ => Err("it does not exist".to_owned()),
        }
    }
}

fn expand_argument(text: &str) -> Result<String, String> {
    let definition = definition(json!({ "command": "a", "args": [text] }));
    match definition.expand(&TestVariables) {
        Ok(ServerTransport::Stdio { args, .. }) => Ok(args[0].clone()),
        Ok(other) => panic!("{other:?}"),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn an_entry_with_a_command_is_a_process() {
    let minimal = definition(json!({ "command": "server" }));
    let expected = ServerTransport::Stdio {
        command: "server".to_owned(),
        args: Vec::new(),
        env: BTreeMap::new(),
        cwd: None,
    };
    assert_eq!(minimal.transport, expected);
    let full = definition(json!({
        "type": "stdio",
        "command": "npx",
        "args": ["-y", "server"],
        "env": { "API_KEY": "${TOKEN}" },
        "cwd": "/srv",
        "autoApprove": ["all"],
        "x-policy": { "timeoutMs": 5 },
    }));
    let expected = ServerTransport::Stdio {
        command: "npx".to_owned(),
        args: vec!["-y".to_owned(), "server".to_owned()],
        env: map([("API_KEY", "${TOKEN}")]),
        cwd: Some("/srv".to_owned()),
    };
    assert_eq!(full.transport, expected);
    assert_eq!(full.policy.timeout, Some(Duration::from_millis(5)));
}

#[test]
fn an_entry_with_a_url_is_an_http_endpoint() {
    let url = "https://mcp.example.com/mcp";
    for kind in [
        Value::Null,
        json!("http"),
        json!("streamable-http"),
        json!("streamableHttp"),
    ] {
        let entry = json!({ "type": kind, "url": url, "headers": { "X-Key": "${TOKEN}" } });
        let expected = ServerTransport::Http {
            url: url.to_owned(),
            headers: map([("X-Key", "${TOKEN}")]),
        };
        assert_eq!(definition(entry).transport, expected);
    }
}

#[test]
fn a_value_of_null_is_absent() {
    let nulls = json!({
        "type": null, "command": "a", "args": null, "env": null, "cwd": null, "url": null,
    });
    assert_eq!(definition(nulls), definition(json!({ "command": "a" })));
}

#[test]
fn an_invalid_entry_is_refused_with_the_file_the_server_and_words() {
    for (entry, words) in [
        (json!("npx hush"), "it must be an object with `command`"),
        (
            json!({}),
            "it has neither `command` nor `url`: write `command` and `args`",
        ),
        (
            json!({ "command": "a", "url": "http://a" }),
            "both `command` and `url`: keep",
        ),
        (
            json!({ "type": "sse", "url": "http://a/sse" }),
            "deprecated since MCP 2025-03-26",
        ),
        (
            json!({ "type": "sse", "url": "http://a/sse" }),
            "server's URL for Streamable HTTP",
        ),
        (
            json!({ "type": "hush", "url": "http://a" }),
            "`type` must be \"http\", as it has `url`, or be absent",
        ),
        (
            json!({ "type": 1, "url": "http://a" }),
            "`type` must be a string",
        ),
        (
            json!({ "type": "http", "command": "a" }),
            "`type` must be \"stdio\", as it has `command`",
        ),
        (
            json!({ "type": "stdio", "url": "http://a" }),
            "`type` must be \"http\", as it has `url`",
        ),
        (json!({ "type": "stdio" }), "neither `command` nor `url`"),
        (json!({ "command": ["hush"] }), "`command` must be a string"),
        (json!({ "command": "" }), "`command` is empty"),
        (
            json!({ "command": "a", "args": "hush" }),
            "`args` must be a list of strings",
        ),
        (
            json!({ "command": "a", "args": ["b", 80] }),
            "`args[1]` must be a string",
        ),
        (
            json!({ "command": "a", "env": ["hush"] }),
            "`env` must be an object",
        ),
        (
            json!({ "command": "a", "env": { "A": 3000 } }),
            "`env.A` must be a string",
        ),
        (
            json!({ "command": "a", "env": { "hush=": "b" } }),
            "`env` has a name that is not",
        ),
        (
            json!({ "command": "a", "env": { "": "b" } }),
            "write one such as `API_KEY`",
        ),
        (
            json!({ "command": "a", "env": { "A": "${hush" } }),
            "`env.A` has a `${` without",
        ),
        (
            json!({ "command": "a", "cwd": 1 }),
            "`cwd` must be a string",
        ),
        (
            json!({ "command": "a", "cwd": "${workspaceFolder}" }),
            "`cwd` has `${workspaceFolder}`",
        ),
        (json!({ "url": "hush" }), "`url` is not a URL"),
        (
            json!({ "url": "https://me:hush@a" }),
            "`url` has a user name or a password",
        ),
        (
            json!({ "url": "ftp://hush" }),
            "`url` must start with http:// or https://",
        ),
        (
            json!({ "url": "http://a", "headers": "hush" }),
            "`headers` must be an object",
        ),
        (
            json!({ "url": "http://a", "headers": { "A": true } }),
            "`headers.A` must be a string",
        ),
        (
            json!({ "url": "http://a", "headers": { "A": "hush\n" } }),
            "`headers.A` has a line break",
        ),
        (
            json!({ "url": "http://a", "headers": { "A b": "c" } }),
            "write one such as `X-Api-Key`",
        ),
        (
            json!({ "url": "http://a", "headers": { "A": "Bearer ${input:key}" } }),
            "`headers.A` has a `${input:…}`, for which an editor asks its user: write `${VAR}`",
        ),
        (
            json!({ "command": "a", "x-policy": { "a": 1 } }),
            "`x-policy` is invalid: unknown field `a`",
        ),
    ] {
        let error = parse_entry_of(entry).unwrap_err();
        let start = "the server `time` in /etc/mcp-servers.json: ";
        assert!(error.starts_with(start) && error.contains(words), "{error}");
        assert!(!error.contains("hush"), "{error}");
    }
}

#[test]
fn variables_in_a_text_are_replaced_by_their_values() {
    for (text, expected) in [
        ("plain", "plain"),
        ("", ""),
        ("${TOKEN}", "hush-1"),
        ("${env:TOKEN}", "hush-1"),
        ("<${TOKEN}${TOKEN}>", "<hush-1hush-1>"),
        ("${TOKEN:-default}", "hush-1"),
        ("${MISSING:-default}", "default"),
        ("${MISSING:-}", ""),
        ("${EMPTY}", ""),
        ("${EMPTY:-default}", "default"),
        ("${file:/run/secret}", "hush-2"),
        ("${file:/run/windows}", "hush-3"),
        ("${file:/run/two-line-ends}", "hush-4\n"),
        ("$TOKEN $ $$ {TOKEN}", "$TOKEN $ $$ {TOKEN}"),
        ("$${TOKEN}", "$hush-1"),
    ] {
        assert_eq!(expand_argument(text).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn a_value_is_not_searched_for_variables() {
    for (text, expected) in [
        ("${REFERENCE}", "${TOKEN}"),
        ("${file:/run/reference}", "${TOKEN}"),
        ("${HALF}{TOKEN}", "${TOKEN}"),
        ("${MISSING:-$}{TOKEN}", "${TOKEN}"),
    ] {
        assert_eq!(expand_argument(text).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn variables_are_replaced_in_every_text_of_a_process() {
    let definition = definition(json!({
        "command": "/bin/${TOKEN}",
        "args": ["a", "${TOKEN}"],
        "env": { "A": "${TOKEN}", "${TOKEN}": "b" },
        "cwd": "/${TOKEN}",
    }));
    let expected = ServerTransport::Stdio {
        command: "/bin/hush-1".to_owned(),
        args: vec!["a".to_owned(), "hush-1".to_owned()],
        env: map([("A", "hush-1"), ("${TOKEN}", "b")]),
        cwd: Some("/hush-1".to_owned()),
    };
    assert_eq!(definition.expand(&TestVariables), Ok(expected));
}

#[test]
fn variables_are_replaced_in_every_text_of_an_http_endpoint() {
    let definition = definition(json!({
        "url": "${HOST}/mcp?key=${TOKEN}",
        "headers": { "Authorization": "Bearer ${file:/run/secret}" },
    }));
    let expected = ServerTransport::Http {
        url: "https://mcp.example.com/mcp?key=hush-1".to_owned(),
        headers: map([("Authorization", "Bearer hush-2")]),
    };
    assert_eq!(definition.expand(&TestVariables), Ok(expected));
}

#[test]
fn texts_that_cannot_be_expanded_are_refused_without_a_value() {
    let http = |url: &str| json!({ "url": url, "headers": {} });
    for (entry, words) in [
        (
            json!({ "command": "a", "env": { "KEY": "${TOKEN}${MISSING}" } }),
            "`env.KEY` needs the environment variable `MISSING`, which is not set: set it for this \
             program, or write a default as in `${MISSING:-default}`",
        ),
        (
            json!({ "url": "http://a", "headers": { "A": "${TOKEN}${file:/run/none}" } }),
            "`headers.A` needs the file /run/none, which cannot be used: it does not exist. Create",
        ),
        (
            json!({ "command": "${EMPTY}" }),
            "`command` is empty: write the program to start (with the values of its variables)",
        ),
        (
            json!({ "command": "a", "cwd": "${EMPTY}" }),
            "`cwd` is empty",
        ),
        (http("${TOKEN}"), "`url` is not a URL"),
        (
            http("${USER_URL}/mcp"),
            "`url` has a user name or a password in it",
        ),
        (
            http("https://${TOKEN}@a/mcp"),
            "put it into `headers` instead",
        ),
        (
            json!({ "url": "http://a", "headers": { "A": "${LINES}" } }),
            "`headers.A` has a line break",
        ),
    ] {
        let error = definition(entry).expand(&TestVariables).unwrap_err();
        let error = error.to_string();
        let start = "the server `time` in /etc/mcp-servers.json: ";
        assert!(error.starts_with(start) && error.contains(words), "{error}");
        assert!(!error.contains("hush"), "{error}");
    }
}

#[test]
fn an_error_of_expansion_has_the_variable_or_the_file() {
    let problem = |text| {
        let definition = definition(json!({ "command": "a", "args": [text] }));
        definition.expand(&TestVariables).unwrap_err().problem
    };
    let missing = ExpansionProblem::MissingVariable("MISSING".to_owned());
    assert_eq!(problem("${MISSING}"), missing);
    let path = PathBuf::from("/run/none");
    let unusable = ExpansionProblem::UnusableFile(path, "it does not exist".to_owned());
    assert_eq!(problem("${file:/run/none}"), unusable);
}

#[test]
fn debug_shows_names_and_no_secrets() {
    let process = definition(json!({
        "command": "npx",
        "args": ["--key", "hush"],
        "env": { "API_KEY": "hush" },
    }));
    let shown = format!("{process:?}");
    assert!(
        shown.contains(r#"Stdio { command: "npx", args: (2), env: ["API_KEY"]"#),
        "{shown}"
    );
    assert!(!shown.contains("hush"), "{shown}");
    let http = definition(json!({
        "url": "${HOST}/hush?key=hush",
        "headers": { "Authorization": "Bearer hush" },
    }));
    let shown = format!("{http:?}");
    assert!(
        shown.contains(r#"Http { url: …, headers: ["Authorization"] }"#),
        "{shown}"
    );
    assert!(!shown.contains("hush"), "{shown}");
    let shown = format!("{:?}", http.expand(&TestVariables).unwrap());
    assert!(
        shown.contains("Http { url: https://mcp.example.com/…,"),
        "{shown}"
    );
    assert!(!shown.contains("hush"), "{shown}");
}
