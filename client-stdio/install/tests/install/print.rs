//! Links and blocks for people.

use base64::Engine;
use client_install::{InstallArguments, UninstallArguments};
use serde_json::{Value, json};

use crate::test_home::{PROGRAM, TOKEN, TestHome, arguments, selection};

fn printed(home: &TestHome, clients: &[&str], http: bool) -> String {
    let (_, output) = home.install_with(&InstallArguments {
        print: true,
        http,
        selection: selection(clients),
        ..arguments(&[])
    });
    assert_eq!(home.files(), [""; 0]);
    output
}

fn decoded(text: &str) -> String {
    percent_encoding::percent_decode_str(text)
        .decode_utf8()
        .unwrap()
        .into_owned()
}

#[test]
fn the_link_for_cursor_has_the_entry() {
    let home = TestHome::new();
    let output = printed(&home, &["cursor"], false);
    let link = output
        .lines()
        .find(|line| line.starts_with("cursor:"))
        .unwrap();
    let query =
        link.strip_prefix("cursor://anysphere.cursor-deeplink/mcp/install?name=mcp%2Dweb&config=");
    let config = base64::engine::general_purpose::STANDARD.decode(decoded(query.unwrap()));
    let config: Value = serde_json::from_slice(&config.unwrap()).unwrap();
    assert_eq!(
        config,
        json!({
            "command": PROGRAM, "args": ["stdio"],
            "env": { "MCP_SERVER_URL": "http://127.0.0.1:3001/mcp", "AUTH_TOKEN": TOKEN },
        })
    );
}

#[test]
fn the_link_for_vs_code_asks_for_the_token() {
    let home = TestHome::new();
    for (http, member) in [(false, "command"), (true, "url")] {
        let output = printed(&home, &["vscode"], http);
        assert!(
            !output.contains(TOKEN) && !output.contains("https:"),
            "{output}"
        );
        let link = output
            .lines()
            .find(|line| line.starts_with("vscode:"))
            .unwrap();
        let config = decoded(link.strip_prefix("vscode:mcp/install?").unwrap());
        let config: Value = serde_json::from_str(&config).unwrap();
        assert!(config.get(member).is_some(), "{config}");
        assert_eq!(config["name"], "mcp-web");
        assert_eq!(config["inputs"][0]["password"], true);
        let token = format!("${{input:{}}}", config["inputs"][0]["id"].as_str().unwrap());
        assert!(config.to_string().contains(&token), "{config}");
    }
}

#[test]
fn all_clients_have_a_block_or_a_link() {
    let mut home = TestHome::new();
    home.environment.variables.clear();
    let output = printed(&home, &[], false);
    for client in client_install::CLIENTS {
        assert!(output.contains(&format!("{}: ", client.name)), "{output}");
    }
    assert!(
        output.contains("\"AUTH_TOKEN\": \"TOKEN\"") && output.contains("Replace TOKEN"),
        "{output}"
    );
    assert!(output.contains("[mcp_servers.mcp-web]\n"), "{output}");
}

#[test]
fn goose_gets_a_block_to_add_by_hand() {
    let home = TestHome::new();
    home.write(".config/goose/config.yaml", "extensions: {} # mine\n");
    let (is_fine, output) = home.install("goose");
    assert!(
        is_fine && output.contains("~/.config/goose/config.yaml by hand"),
        "{output}"
    );
    let block = "extensions:\n  mcp-web:\n    name: \"mcp-web\"\n";
    assert!(output.contains(block), "{output}");
    assert!(
        output.contains("    args: [\"stdio\"]\n    envs:\n      MCP_SERVER_URL: "),
        "{output}"
    );
    assert_eq!(
        home.read(".config/goose/config.yaml"),
        "extensions: {} # mine\n"
    );
    home.write(
        ".config/goose/config.yaml",
        "extensions:\n  mcp-web:\n    cmd: x\n",
    );
    let (is_fine, output) = home.uninstall_with(&UninstallArguments {
        selection: selection(&["goose"]),
        name: None,
    });
    assert!(!is_fine && output.contains("by hand"), "{output}");
}
