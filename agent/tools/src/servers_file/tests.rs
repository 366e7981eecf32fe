//! Tests of the file as a whole: its content, and the text that edits leave unchanged.

mod save;

use serde_json::json;

use super::*;

const PATH: &str = "/etc/mcp-servers.json";

fn parse(text: &str) -> ServersFile {
    ServersFile::parse(Path::new(PATH), text).unwrap()
}

fn parse_error(text: &str) -> String {
    let error = ServersFile::parse(Path::new(PATH), text).unwrap_err();
    error.to_string()
}

fn names(file: &ServersFile) -> Vec<String> {
    file.servers()
        .into_iter()
        .map(|server| server.name)
        .collect()
}

/// Returns a document with this number of servers.
fn document(servers: usize) -> String {
    let entry = || json!({ "command": "a" });
    let servers = (0..servers).map(|index| (format!("s{index}"), entry()));
    json!({ "mcpServers": Map::from_iter(servers) }).to_string()
}

#[test]
fn servers_are_below_either_key_in_the_order_of_the_file() {
    for key in ["mcpServers", "servers"] {
        let file = parse(&format!(
            r#"{{"inputs": [], "{key}": {{"z": {{"command": "a"}}, "a": {{"url": "http://a"}}}}}}"#
        ));
        assert_eq!(names(&file), ["z", "a"]);
        assert!(
            file.servers()
                .iter()
                .all(|server| server.definition.is_ok())
        );
    }
}

#[test]
fn a_file_may_have_no_servers() {
    for text in [
        "{}",
        r#"{"inputs": []}"#,
        r#"{"mcpServers": {}}"#,
        "\u{feff}{\"servers\": {}}",
    ] {
        assert_eq!(parse(text).servers(), [], "{text}");
    }
}

#[test]
fn a_file_that_is_not_a_list_of_servers_is_refused_with_a_reason() {
    for (text, words) in [
        ("", "json: it is empty: write"),
        ("{\n  hush\n}", "json: line 2, column 3: this is not JSON"),
        ("{\"servers\": {\"hush\": 1", "this is not JSON: Unterm"),
        (
            r#"{"servers": {"a": 1, "a": 2}}"#,
            "the key `a` is there twice",
        ),
        ("[]", "is not an object: write {\"mcpServers\": {…}}"),
        (
            r#"{"mcpServers": {}, "servers": {}}"#,
            "both `mcpServers` and `servers`: move all",
        ),
        (
            r#"{"mcpServers": ["hush"]}"#,
            "`mcpServers` is not an object",
        ),
        (r#"{"servers": null}"#, "`servers` is not an object"),
        (
            r#"{"time": {"command": "hush"}}"#,
            "move them below `mcpServers`",
        ),
        (
            r#"{"time": {"url": "hush"}}"#,
            "move them below `mcpServers`",
        ),
    ] {
        let error = parse_error(text);
        assert!(error.contains(PATH) && error.contains(words), "{error}");
        assert!(!error.contains("hush"), "{error}");
    }
}

#[test]
fn an_invalid_server_does_not_affect_the_others() {
    let file = parse(
        r#"{"mcpServers": {
            "time": {"command": "time"},
            "old": {"type": "sse", "url": "http://a/sse"},
            "no name": {"command": "a"},
            "notes": {"url": "http://a/mcp"}
        }}"#,
    );
    let servers = file.servers();
    let errors: Vec<_> = servers
        .iter()
        .filter_map(|it| it.definition.as_ref().err())
        .collect();
    assert_eq!(errors.len(), 2);
    assert!(errors[0].starts_with("the server `old` in /etc/mcp-servers.json: its `type`"));
    assert!(errors[1].starts_with("the server `no name` in /etc/mcp-servers.json: this name"));
    assert!(servers[0].definition.is_ok() && servers[3].definition.is_ok());
}

#[test]
fn a_missing_variable_disables_only_its_server() {
    #[derive(Debug)]
    struct NoVariables;
    impl Variables for NoVariables {
        fn variable(&self, _: &str) -> Option<String> {
            None
        }
        fn file(&self, _: &Path) -> Result<String, String> {
            Err("it does not exist".to_owned())
        }
    }
    let file = parse(
        r#"{"mcpServers": {
            "time": {"command": "time"},
            "github": {"command": "gh", "env": {"KEY": "${GITHUB_TOKEN}"}},
            "mail": {"url": "http://a", "headers": {"A": "${file:/run/mail}"}},
            "notes": {"command": "notes", "args": ["${FOLDER:-/srv}"]}
        }}"#,
    );
    let expanded = file.servers().into_iter().map(|server| {
        let expanded = server.definition.unwrap().expand(&NoVariables);
        expanded.map_err(|error| error.to_string())
    });
    let expanded: Vec<_> = expanded.collect();
    assert!(expanded[0].is_ok() && expanded[3].is_ok());
    assert!(
        expanded[1]
            .as_ref()
            .unwrap_err()
            .contains("`GITHUB_TOKEN`, which is not set")
    );
    assert!(
        expanded[2]
            .as_ref()
            .unwrap_err()
            .contains("/run/mail, which cannot be used")
    );
}

#[test]
fn a_file_has_a_maximum_number_of_servers() {
    let mut full = parse(&document(MAX_SERVERS));
    assert_eq!(full.servers().len(), MAX_SERVERS);
    let error = full.add("one-more", json!({ "command": "a" })).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("has 64 servers, which is the maximum"),
        "{error}"
    );
    assert_eq!(full.servers().len(), MAX_SERVERS);
    let error = parse_error(&document(MAX_SERVERS + 1));
    assert!(
        error.contains("it has 65 servers, and the maximum is 64"),
        "{error}"
    );
}

#[test]
fn a_file_has_a_maximum_size() {
    let text = |bytes: usize| format!("{{}}{}", " ".repeat(bytes - 2));
    assert_eq!(parse(&text(MAX_FILE_BYTES)).servers(), []);
    let error = parse_error(&text(MAX_FILE_BYTES + 1));
    assert!(error.contains("it is larger than 1048576 bytes"), "{error}");
}

#[test]
fn a_server_that_cannot_be_added_or_removed_is_named() {
    let mut file = parse(r#"{"mcpServers": {"time": {"command": "a"}}}"#);
    for (name, entry, words) in [
        (
            "time",
            json!({ "command": "b" }),
            "the server `time` in /etc/mcp-servers.json exists",
        ),
        (
            "no name",
            json!({ "command": "b" }),
            "the server `no name` in /etc/mcp-servers.json:",
        ),
        ("notes", json!({}), "neither `command` nor `url`"),
        (
            "notes",
            json!({ "command": "${input:hush}" }),
            "`command` has a `${input:…}`",
        ),
    ] {
        let error = file.add(name, entry).unwrap_err().to_string();
        assert!(error.contains(words) && !error.contains("hush"), "{error}");
    }
    let error = file.remove("notes").unwrap_err().to_string();
    assert!(
        error.contains("`notes` in /etc/mcp-servers.json does not exist"),
        "{error}"
    );
    assert_eq!(names(&file), ["time"]);
    assert!(matches!(
        parse("{}").remove("notes"),
        Err(EditError::Missing(_))
    ));
}

#[test]
fn removing_a_server_keeps_the_order_of_the_others() {
    let mut file = parse(&document(5));
    file.remove("s1").unwrap();
    assert_eq!(names(&file), ["s0", "s2", "s3", "s4"]);
}

#[test]
fn debug_of_the_file_shows_names_and_no_secrets() {
    let file = parse(
        r#"{"token": "hush", "servers": {"time": {"command": "hush", "env": {"A": "hush"}}}}"#,
    );
    let shown = format!("{file:?}");
    assert!(
        shown.contains(r#"key: "servers", servers: ["time"]"#),
        "{shown}"
    );
    let invalid = parse(r#"{"servers": {"time": {"command": "a", "env": {"A": ["hush"]}}}}"#);
    let shown = shown + &format!("{:?}{:?}", invalid, invalid.servers());
    assert!(!shown.contains("hush"), "{shown}");
}
