//! Random files: an installation and an uninstallation leave them as they were.

use proptest::prelude::*;

use crate::test_home::TestHome;

/// Members of a JSON file, of which some have comments.
fn members() -> impl Strategy<Value = Vec<String>> {
    let value = prop_oneof![
        Just("1".to_owned()),
        Just("[1, /* , */ 2,]".to_owned()),
        Just("{ \"x\": {} // }\n }".to_owned()),
        Just("\"{\\\"\"".to_owned()),
    ];
    let member = (0_usize..1000, value).prop_map(|(key, value)| format!("\"k{key}\": {value}"));
    proptest::collection::vec(member, 0..4).prop_map(|mut members| {
        members.sort_by_key(|member| member.split(':').next().unwrap_or_default().to_owned());
        members.dedup_by_key(|member| member.split(':').next().unwrap_or_default().to_owned());
        members
    })
}

fn json_file() -> impl Strategy<Value = String> {
    let separator = prop_oneof![
        Just(", ".to_owned()),
        Just(",\n  ".to_owned()),
        Just(",\r\n\t".to_owned()),
        Just(" // c\n,".to_owned()),
    ];
    let servers = prop_oneof![
        Just(None),
        Just(Some("\"mcpServers\": {}".to_owned())),
        Just(Some(
            "\"mcpServers\": {\"a\": {\"command\": \"x\"}}".to_owned()
        )),
        Just(Some("\"mcpServers\": {\n    \"a\": {},\n  }".to_owned())),
    ];
    let end = prop_oneof![Just(""), Just(","), Just("\n"), Just(",\n// end\n")];
    (
        members(),
        separator,
        servers,
        0_usize..4,
        end,
        any::<bool>(),
    )
        .prop_map(|(mut members, separator, servers, index, end, mark)| {
            if let Some(servers) = servers {
                members.insert(index.min(members.len()), servers);
            }
            let end = if members.is_empty() { "" } else { end };
            let mark = if mark { "\u{feff}" } else { "" };
            format!("{mark}{{{}{end}}}", members.join(&separator))
        })
}

fn toml_file() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        Just("# comment [mcp_servers.mcp-web]".to_owned()),
        Just(String::new()),
        (0_usize..1000).prop_map(|key| format!("k{key} = \"# x\" # y")),
        (0_usize..1000).prop_map(|key| format!("[t{key}]\na.b = [1,\n 2]")),
        (0_usize..1000).prop_map(|key| format!("[mcp_servers.s{key}]\ncommand = '''\n[x]'''")),
        (0_usize..1000).prop_map(|key| format!("[[l{key}]]\nx = 1")),
    ];
    let line_break = prop_oneof![Just("\n"), Just("\r\n")];
    (
        proptest::collection::vec(line, 0..6),
        line_break,
        any::<bool>(),
    )
        .prop_map(|(lines, line_break, ends)| {
            let text = lines.join("\n").replace('\n', line_break);
            text + if ends { line_break } else { "" }
        })
}

/// Installs and uninstalls with a file, and compares it.
fn check(client: &str, path: &str, text: &str) -> Result<(), TestCaseError> {
    let home = TestHome::new();
    home.write(path, text);
    let (is_fine, output) = home.install(client);
    // Keys that are there twice are refused.
    prop_assume!(is_fine || !output.contains("this is not") && !output.contains("twice"));
    prop_assert!(is_fine, "{}\n{}", output, text);
    let installed = home.read(path);
    prop_assert!(
        home.install(client).1.contains("up to date"),
        "{}",
        &installed
    );
    // Without the backup, the entry is cut out of the text.
    let backup = format!("{path}.before-mcp-web");
    let without_backup = TestHome::new();
    without_backup.write(path, &installed);
    let (is_fine, output) = without_backup.uninstall(client);
    prop_assert!(is_fine, "{}\n{}", output, installed);
    if without_backup.path(path).exists() {
        let left = without_backup.read(path);
        prop_assert!(!left.contains("AUTH_TOKEN"), "{}", left);
        let rest = |text: &str| {
            let text: String = text.split([' ', '\t', '\r', '\n', ',']).collect();
            text.replace("\"mcpServers\":{}", "")
        };
        prop_assert_eq!(rest(&left), rest(text), "{}", &installed);
    }
    let (is_fine, output) = home.uninstall(client);
    prop_assert!(is_fine, "{}\n{}", output, installed);
    prop_assert_eq!(home.read(path), text, "{}", &installed);
    prop_assert!(!home.path(&backup).exists());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn json_is_restored(text in json_file()) {
        check("cursor", ".cursor/mcp.json", &text)?;
    }

    #[test]
    fn toml_is_restored(text in toml_file()) {
        check("codex", ".codex/config.toml", &text)?;
    }
}
