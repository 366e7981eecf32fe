//! Files after an uninstallation.

use client_install::{CLIENTS, InstallArguments, Selection, UninstallArguments};
use serde_json::json;

use crate::test_home::{TestHome, arguments, selection};

#[test]
fn nothing_is_left_in_an_empty_home() {
    for client in CLIENTS.iter().filter(|client| client.id != "goose") {
        for http in [false, true] {
            let home = TestHome::new();
            let (is_fine, _) = home.install_with(&InstallArguments {
                http,
                ..arguments(&[client.id])
            });
            if !is_fine {
                assert_eq!((client.id, http), ("claude-desktop", true));
                continue;
            }
            let (is_fine, output) = home.uninstall(client.id);
            assert!(is_fine, "{output}");
            assert_eq!(home.files(), [""; 0], "{}", client.id);
        }
    }
}

#[test]
fn a_file_is_restored_byte_for_byte() {
    for (client, path, text) in [
        ("cursor", ".cursor/mcp.json", "{ \"mcpServers\" : { } }"),
        ("cursor", ".cursor/mcp.json", "{\"a\":1}"),
        (
            "cursor",
            ".cursor/mcp.json",
            "{\n\n  \"mcpServers\": {\n\n    \"a\": {\"command\": \"x\"}}\n\n}",
        ),
        (
            "zed",
            ".config/zed/settings.json",
            "// a\n{\n\t\"a\": [1,\n2], // b\n\n\t// c\n}\n",
        ),
        ("codex", ".codex/config.toml", "a = 1"),
        ("codex", ".codex/config.toml", "\n\n# only a comment\n"),
    ] {
        let home = TestHome::new();
        home.write(path, text);
        assert!(home.install(client).0);
        assert_ne!(home.read(path), text);
        let (is_fine, output) = home.uninstall(client);
        assert!(is_fine && output.contains("as before"), "{output}");
        assert_eq!(home.read(path), text);
        assert_eq!(home.files(), [path]);
    }
}

#[test]
fn what_changed_since_the_installation_stays() {
    let home = TestHome::new();
    home.write(".cursor/mcp.json", "{\"a\": 1}");
    assert!(home.install("cursor").0);
    let changed = home
        .read(".cursor/mcp.json")
        .replace("\"a\": 1", "\"a\": 2");
    home.write(".cursor/mcp.json", changed);
    assert!(home.uninstall("cursor").0);
    assert_eq!(home.read(".cursor/mcp.json"), "{\"a\": 2}");
}

#[test]
fn a_comment_since_the_installation_stays() {
    let home = TestHome::new();
    home.write(".config/zed/settings.json", "{\n  \"a\": 1\n}\n");
    assert!(home.install("zed").0);
    let changed = format!("// mine\n{}", home.read(".config/zed/settings.json"));
    home.write(".config/zed/settings.json", changed);
    assert!(home.uninstall("zed").0);
    let text = home.read(".config/zed/settings.json");
    assert!(text.starts_with("// mine\n{"), "{text}");
}

#[test]
fn a_secret_that_a_person_wrote_into_an_entry_is_not_shown() {
    let home = TestHome::new();
    let entry = json!({ "mcpServers": { "mcp-web": {
        "command": "npx",
        "args": ["--registry=secret-one", "mcp-web", "stdio", "--header", "secret-two"],
        "headers": { "X": "secret-three" },
        "password": "secret-four",
        "timeout": 5,
    } } });
    home.write(".cursor/mcp.json", entry.to_string());
    let (is_fine, output) = home.install("cursor");
    assert!(is_fine && output.contains("\"timeout\": 5"), "{output}");
    assert!(!output.contains("secret-"), "{output}");
}

#[test]
fn only_entries_that_start_this_program_are_removed() {
    let home = TestHome::new();
    let others = json!({
        "other": { "command": "node", "args": ["mcp-web.js"] },
        "web": { "url": "http://127.0.0.1:3001/mcp" },
        "mcp-web": { "url": "http://other/mcp" },
    });
    let mut servers = others.clone();
    servers["board"] = json!({ "command": "/old/mcp-web", "args": ["stdio"] });
    servers["npx"] = json!({ "command": "npx", "args": ["-y", "mcp-web@0.2.0", "stdio"] });
    home.write(
        ".cursor/mcp.json",
        json!({ "mcpServers": servers }).to_string(),
    );
    let (is_fine, output) = home.uninstall("cursor");
    assert!(is_fine, "{output}");
    assert_eq!(home.json(".cursor/mcp.json")["mcpServers"], others);
    assert!(home.uninstall("cursor").1.contains("no entry"));
}

#[test]
fn an_entry_is_removed_by_its_name() {
    let home = TestHome::new();
    for name in ["one", "two"] {
        let (is_fine, output) = home.install_with(&InstallArguments {
            name: name.to_owned(),
            ..arguments(&["cursor"])
        });
        assert!(is_fine, "{output}");
    }
    let only = |name: &str| UninstallArguments {
        selection: selection(&["cursor"]),
        name: Some(name.to_owned()),
    };
    assert!(home.uninstall_with(&only("one")).0);
    let servers = home.json(".cursor/mcp.json")["mcpServers"].clone();
    assert!(
        servers.get("one").is_none() && servers.get("two").is_some(),
        "{servers}"
    );
    assert!(home.uninstall_with(&only("two")).0);
    assert_eq!(home.files(), [""; 0]);
    home.write(
        ".cursor/mcp.json",
        "{\"mcpServers\": {\"x\": {\"command\": \"node\"}}}",
    );
    let (is_fine, output) = home.uninstall_with(&only("x"));
    assert!(!is_fine && output.contains("it stays"), "{output}");
}

#[test]
fn a_dry_run_removes_nothing() {
    let home = TestHome::new();
    assert!(home.install("cursor").0);
    let text = home.read(".cursor/mcp.json");
    let (is_fine, output) = home.uninstall_with(&UninstallArguments {
        selection: Selection {
            dry_run: true,
            ..selection(&["cursor"])
        },
        name: None,
    });
    assert!(is_fine && output.contains("- "), "{output}");
    assert!(!output.contains(crate::test_home::TOKEN), "{output}");
    assert_eq!(home.read(".cursor/mcp.json"), text);
}
