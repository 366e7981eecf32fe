//! Changes in files that have other things.

use client_install::{InstallArguments, Selection};
use serde_json::json;

use crate::test_home::{PROGRAM, TOKEN, TestHome, arguments, selection};

#[test]
fn comments_and_other_members_of_json_stay() {
    let home = TestHome::new();
    let text = "// first\n{\n    \"theme\": \"One\", // look\n    /* all */\n    \"context_servers\": {\n        \
                \"other\": { \"command\": \"x\", }, // other\n    },\n}\n";
    home.write(".config/zed/settings.json", text);
    assert!(home.install("zed").0);
    let entry = format!(
        "\n        \"mcp-web\": {{\n            \"command\": \"{PROGRAM}\",\n            \"args\": \
         [\"stdio\"],\n            \"env\": {{\n                \"MCP_SERVER_URL\": \
         \"http://127.0.0.1:3001/mcp\",\n                \"AUTH_TOKEN\": \"{TOKEN}\"\n            \
         }}\n        }},"
    );
    let expected = text.replace("// other", &format!("// other{entry}"));
    assert_eq!(home.read(".config/zed/settings.json"), expected);
}

#[test]
fn a_byte_order_mark_and_the_line_breaks_of_windows_stay() {
    for (client, path, text) in [
        (
            "cursor",
            ".cursor/mcp.json",
            "\u{feff}{\r\n  \"mcpServers\": {\r\n    \"a\": {}\r\n  }\r\n}\r\n",
        ),
        (
            "codex",
            ".codex/config.toml",
            "\u{feff}model = \"x\" # y\r\n\r\n[mcp_servers.a]\r\ncommand = \"a\"\r\n",
        ),
    ] {
        let home = TestHome::new();
        home.write(path, text);
        assert!(home.install(client).0);
        let changed = home.read(path);
        assert!(
            changed.starts_with('\u{feff}') && changed.contains(TOKEN),
            "{changed}"
        );
        let breaks = changed.matches('\n').count();
        assert_eq!(breaks, changed.matches("\r\n").count(), "{changed:?}");
        for line in text.trim_start_matches('\u{feff}').split("\r\n") {
            assert!(changed.contains(line), "{line}");
        }
        assert!(home.uninstall(client).0);
        assert_eq!(home.read(path), text);
    }
}

#[test]
fn comments_and_other_tables_of_toml_stay() {
    let home = TestHome::new();
    let text = "# mine\nmodel = \"x\" # why\n\n[mcp_servers.other] # other\ncommand = \"o\"\n\n[tui]\ntheme = \"a\"";
    home.write(".codex/config.toml", text);
    assert!(home.install("codex").0);
    let changed = home.read(".codex/config.toml");
    assert_eq!(
        changed,
        format!(
            "{text}\n\n[mcp_servers.mcp-web]\ncommand = \"{PROGRAM}\"\nargs = [\"stdio\"]\nenv = {{ \
             MCP_SERVER_URL = \"http://127.0.0.1:3001/mcp\", AUTH_TOKEN = \"{TOKEN}\" }}\n"
        )
    );
}

#[test]
fn an_entry_that_codex_wrote_itself_is_updated_where_it_is() {
    let home = TestHome::new();
    let text = "[mcp_servers.mcp-web]\ncommand = \"/old/mcp-web\" # mine\nargs = [\"stdio\"]\nstartup_timeout_sec = 20\n\n\
                [mcp_servers.mcp-web.env]\nAUTH_TOKEN = \"old\"\nX = \"y\"\n\n[tui]\n";
    home.write(".codex/config.toml", text);
    assert!(home.install("codex").0);
    let expected = text
        .replace("/old/mcp-web", PROGRAM)
        .replace("\"old\"", &format!("\"{TOKEN}\""))
        .replace(
            "env]\n",
            "env]\nMCP_SERVER_URL = \"http://127.0.0.1:3001/mcp\"\n",
        );
    assert_eq!(home.read(".codex/config.toml"), expected);
    // The backup is equal to it but for the entry, which it had as well.
    assert!(home.uninstall("codex").0);
    assert_eq!(home.read(".codex/config.toml"), "[tui]\n");
}

#[test]
fn inline_and_dotted_tables_of_toml_are_changed() {
    for (text, is_ours) in [
        ("mcp_servers = { other = { command = \"o\" } }\n", false),
        ("mcp_servers = {}\n", false),
        ("mcp_servers.other.command = \"o\"\nmodel = \"x\"\n", false),
        ("[mcp_servers]\n", false),
        (
            "[mcp_servers]\nmcp-web = { command = \"mcp-web\", args = [\"stdio\"], env = {} }\nother = { command = \"o\" }\n",
            true,
        ),
        (
            "[mcp_servers.mcp-web]\ncommand = \"mcp-web\"\nargs = [\"stdio\"]\nenv.AUTH_TOKEN = \"x\"\n[a]\n",
            true,
        ),
        (
            "mcp_servers.mcp-web.command = \"mcp-web\"\nmcp_servers.mcp-web.args = [\"stdio\"]\nmcp_servers.mcp-web.env.AUTH_TOKEN = \"x\"\n",
            true,
        ),
    ] {
        let home = TestHome::new();
        home.write(".codex/config.toml", text);
        let (is_fine, output) = home.install("codex");
        if !is_fine {
            // A form that is not changed is refused, and the file stays.
            assert!(output.contains("--print codex"), "{output}");
            assert_eq!(home.read(".codex/config.toml"), text);
            continue;
        }
        let changed = home.read(".codex/config.toml");
        assert!(
            changed.contains(TOKEN) && changed.contains(PROGRAM),
            "{changed}"
        );
        assert!(home.install("codex").1.contains("up to date"), "{changed}");
        let (is_fine, output) = home.uninstall("codex");
        assert!(is_fine, "{output}");
        if !is_ours {
            assert_eq!(home.read(".codex/config.toml"), text);
        }
    }
}

#[test]
fn an_old_entry_is_updated_and_keeps_what_the_person_added() {
    let home = TestHome::new();
    let path =
        ".config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json";
    home.write(
        path,
        json!({ "mcpServers": { "mcp-web": {
            "command": "/old/mcp-web-stdio", "args": [], "disabled": true, "autoApprove": ["x"],
            "env": { "MCP_SERVER_URL": "http://localhost:3001/mcp", "AUTH_TOKEN": "old-token", "X": "1" },
        } } })
        .to_string(),
    );
    let (is_fine, output) = home.install("cline");
    assert!(is_fine, "{output}");
    assert_eq!(
        home.json(path)["mcpServers"]["mcp-web"],
        json!({
            "command": PROGRAM, "args": ["stdio"], "disabled": true, "autoApprove": ["x"],
            "env": { "MCP_SERVER_URL": "http://127.0.0.1:3001/mcp", "AUTH_TOKEN": TOKEN, "X": "1" },
        })
    );
    for secret in [TOKEN, "old-token"] {
        assert!(!output.contains(secret), "{output}");
    }
    assert!(
        output.contains("- ")
            && output.contains("(another value)")
            && output.contains("(the token)")
    );
}

#[test]
fn a_name_of_another_server_is_refused_with_a_remedy() {
    let home = TestHome::new();
    let text =
        "{\"mcpServers\": {\"mcp-web\": {\"command\": \"node\", \"args\": [\"server.js\"]}}}";
    home.write(".cursor/mcp.json", text);
    let (is_fine, output) = home.install("cursor");
    assert!(
        !is_fine && output.contains("choose another name with --name"),
        "{output}"
    );
    assert_eq!(home.read(".cursor/mcp.json"), text);
    let (is_fine, output) = home.install_with(&InstallArguments {
        name: "board".to_owned(),
        ..arguments(&["cursor"])
    });
    assert!(is_fine, "{output}");
    assert_eq!(
        home.json(".cursor/mcp.json")["mcpServers"]["board"]["command"],
        PROGRAM
    );
    let (is_fine, output) = home.uninstall("cursor");
    assert!(is_fine, "{output}");
    assert_eq!(home.read(".cursor/mcp.json"), text);
}

#[test]
fn a_file_that_does_not_parse_stays_and_the_error_has_its_place() {
    for (client, path, text, place) in [
        (
            "cursor",
            ".cursor/mcp.json",
            "{\n  \"a\": 1\n  \"b\": 2\n}",
            "line 2, column 9",
        ),
        (
            "cursor",
            ".cursor/mcp.json",
            "{\"mcpServers\": []}",
            "`mcpServers` is not an object",
        ),
        ("cursor", ".cursor/mcp.json", "[]", "it is not an object"),
        (
            "cursor",
            ".cursor/mcp.json",
            "{\"a\": 1, \"a\": 2}",
            "the key `a` is there twice",
        ),
        (
            "codex",
            ".codex/config.toml",
            "a = 1\nb = \n",
            "line 2, column ",
        ),
        (
            "codex",
            ".codex/config.toml",
            "mcp_servers = 1\n",
            "`mcp_servers` is not an object",
        ),
    ] {
        let home = TestHome::new();
        let file = home.write(path, text);
        for (is_fine, output) in [home.install(client), home.uninstall(client)] {
            assert!(!is_fine, "{text}");
            assert!(
                output.contains(place) && output.contains(file.to_str().unwrap()),
                "{output}"
            );
        }
        assert_eq!(home.read(path), text);
        assert_eq!(home.files(), [path]);
    }
    let home = TestHome::new();
    home.write(".cursor/mcp.json", b"{\"a\": \"\xff\"}");
    assert!(home.install("cursor").1.contains("it is not UTF-8"));
}

#[test]
fn empty_files_get_an_entry_and_are_empty_again() {
    for text in [
        "",
        "\n",
        "{}",
        "{}\n",
        "// mine\n",
        "{ /* mine */ }",
        "{\"mcpServers\": {}}",
        "{\n\n}\n",
    ] {
        let home = TestHome::new();
        home.write(".cursor/mcp.json", text);
        let (is_fine, output) = home.install("cursor");
        assert!(is_fine, "{text}: {output}");
        assert_eq!(
            home.json(".cursor/mcp.json")["mcpServers"]["mcp-web"]["command"],
            PROGRAM
        );
        assert!(home.uninstall("cursor").0);
        assert_eq!(home.read(".cursor/mcp.json"), text);
        assert_eq!(home.files(), [".cursor/mcp.json"]);
    }
}

#[test]
fn a_dry_run_shows_the_change_without_the_token_and_makes_none() {
    let home = TestHome::new();
    home.write(
        ".cursor/mcp.json",
        "{\"mcpServers\": {\"a\": {\"env\": {\"KEY\": \"secret-of-a\"}}}}",
    );
    let (is_fine, output) = home.install_with(&InstallArguments {
        selection: Selection {
            dry_run: true,
            ..selection(&["cursor"])
        },
        ..arguments(&[])
    });
    assert!(
        is_fine && output.contains("+ ") && output.contains(PROGRAM),
        "{output}"
    );
    assert!(
        !output.contains(TOKEN) && !output.contains("secret-of-a"),
        "{output}"
    );
    assert!(!home.read(".cursor/mcp.json").contains(PROGRAM));
}

#[test]
fn secrets_of_an_old_entry_are_not_shown() {
    let old = json!({
        "command": "mcp-web-stdio", "args": ["--token", "old-secret"],
        "env": { "MCP_SERVER_URL": "http://localhost:3001/?token=old-secret", "KEY": "old-secret" },
    });
    let home = TestHome::new();
    let file =
        json!({ "mcpServers": { "mcp-web": old, "other": { "env": { "KEY": "old-secret" } } } });
    home.write(".cursor/mcp.json", file.to_string());
    let (is_fine, output) = home.install("cursor");
    assert!(is_fine && output.contains("- "), "{output}");
    let (_, removed) = home.uninstall("cursor");
    assert!(!(output + &removed).contains("old-secret"), "{removed}");
}
