//! The entries that a diagnosis finds.

use client_install::{InstallArguments, InstallScope, client_statuses};

use crate::test_home::{PROGRAM, TOKEN, TestHome, arguments};

const URL: &str = "http://127.0.0.1:3001/mcp";

#[test]
fn entries_of_all_formats_are_found() {
    let home = TestHome::new();
    for (client, http) in [("codex", false), ("opencode", false), ("windsurf", true)] {
        let arguments = InstallArguments {
            http,
            ..arguments(&[client])
        };
        assert!(home.install_with(&arguments).0);
    }
    home.write(
        ".cursor/mcp.json",
        "{\"mcpServers\": {\"a\": {\"command\": \"x\"}}}",
    );
    home.write(".config/zed/settings.json", "{\n  \"a\": }");
    let statuses = client_statuses(&home.environment, InstallScope::User, URL);
    let ids: Vec<_> = statuses.iter().map(|status| status.client.id).collect();
    assert_eq!(ids, ["codex", "opencode", "cursor", "windsurf", "zed"]);
    for status in &statuses {
        assert!(status.path.is_file());
        match status.client.id {
            "cursor" => assert_eq!(status.entries.as_deref(), Ok(&[][..])),
            "zed" => {
                let error = status.entries.as_deref().unwrap_err();
                assert!(error.starts_with("line 2, column "), "{error}");
            }
            id => {
                let entries = status.entries.as_deref().unwrap();
                let [(name, server)] = entries else {
                    panic!("{entries:?}")
                };
                assert_eq!(name, "mcp-web");
                assert_eq!(server.url.as_deref(), Some(URL));
                assert_eq!(
                    server.token.as_ref().map(|token| token.expose()),
                    Some(TOKEN)
                );
                let command = server.command.as_ref();
                assert_eq!(command.is_none(), id == "windsurf");
                assert!(command.is_none_or(|(program, arguments)| {
                    program.to_str() == Some(PROGRAM) && arguments == &["stdio"]
                }));
            }
        }
    }
    assert!(!format!("{statuses:?}").contains(TOKEN));
}
