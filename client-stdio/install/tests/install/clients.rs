//! Where the files of clients are, and how clients are found.

use client_install::{Environment, InstallArguments, Selection, System};

use crate::test_home::{TestHome, arguments, selection};

fn install_all(home: &TestHome) -> String {
    let all = Selection {
        all: true,
        ..selection(&[])
    };
    let arguments = InstallArguments {
        selection: all,
        ..arguments(&[])
    };
    home.install_with(&arguments).1
}

#[test]
fn clients_are_found_by_their_folders_and_programs() {
    let mut home = TestHome::new();
    for path in [
        ".claude.json",
        ".cursor/x",
        ".config/Code/User/x",
        ".gemini/antigravity/x",
    ] {
        home.write(path, "{}");
    }
    home.write("programs/opencode", "");
    let programs = home.path("programs").display().to_string();
    home.set("PATH", &format!("/no/such/folder:{programs}"));
    let output = install_all(&home);
    let done: Vec<_> = output
        .lines()
        .filter(|line| line.contains(": done"))
        .collect();
    let names: Vec<_> = done
        .iter()
        .map(|line| line.split(':').next().unwrap())
        .collect();
    assert_eq!(
        names,
        ["Claude Code", "opencode", "Cursor", "VS Code"],
        "{output}"
    );
}

#[test]
fn variables_move_the_files_of_clients() {
    let mut home = TestHome::new();
    let folder = home.path("elsewhere").display().to_string();
    for (variable, client, file) in [
        ("CODEX_HOME", "codex", "elsewhere/config.toml"),
        ("COPILOT_HOME", "copilot-cli", "elsewhere/mcp-config.json"),
        ("CLAUDE_CONFIG_DIR", "claude-code", "elsewhere/.claude.json"),
        (
            "XDG_CONFIG_HOME",
            "opencode",
            "elsewhere/opencode/opencode.json",
        ),
        ("XDG_CONFIG_HOME", "zed", "elsewhere/zed/settings.json"),
    ] {
        home.set(variable, &folder);
        assert!(home.install(client).0, "{client}");
        assert!(home.path(file).is_file(), "{client}");
    }
    home.set("XDG_CONFIG_HOME", "relative");
    assert!(home.install("zed").0);
    assert!(home.path(".config/zed/settings.json").is_file());
}

#[test]
fn claude_desktop_of_windows_has_its_file_in_the_folder_of_the_package() {
    let roaming = "AppData/Roaming/Claude/claude_desktop_config.json";
    let package = "AppData/Local/Packages/Claude_pzs8/LocalCache/Roaming/Claude";
    let data = "AppData/Local/Claude-Data/claude_pzs8";
    // A package that was never started, and a file that only older versions read.
    for (folders, expected) in [
        (
            vec!["AppData/Local/Packages/Claude_pzs8"],
            roaming.to_owned(),
        ),
        (
            vec!["AppData/Roaming/Claude", package],
            format!("{package}/claude_desktop_config.json"),
        ),
        (
            vec![package, data],
            format!("{data}/claude_desktop_config.json"),
        ),
        (vec!["AppData/Local/Packages/Other_1"], roaming.to_owned()),
    ] {
        let home = TestHome::on(System::Windows);
        home.write(roaming, "{}");
        for folder in &folders {
            std::fs::create_dir_all(home.path(folder)).unwrap();
        }
        assert!(home.install("claude-desktop").0);
        assert!(home.read(&expected).contains("mcp-web"), "{folders:?}");
    }
}

#[test]
fn opencode_with_comments_keeps_its_file() {
    let home = TestHome::new();
    home.write(".config/opencode/opencode.jsonc", "{\n  // mine\n}\n");
    assert!(home.install("opencode").0);
    assert!(
        home.read(".config/opencode/opencode.jsonc")
            .contains("// mine")
    );
    assert!(!home.path(".config/opencode/opencode.json").exists());
}

#[test]
fn variables_of_windows_have_no_case() {
    let home = TestHome::on(System::Windows);
    let environment = Environment {
        variables: [("AppData".to_owned(), "x".to_owned())].into(),
        ..home.environment.clone()
    };
    assert_eq!(environment.variable("APPDATA"), Some("x"));
}

/// Returns a home whose program is in the cache of npx.
fn home_with_npx(content: &str) -> TestHome {
    let mut home = TestHome::new();
    home.environment.program = home.write(".npm/_npx/1/node_modules/x/bin/mcp-web", content);
    home
}

#[test]
fn a_program_in_a_cache_is_copied_and_entries_name_the_copy() {
    let home = home_with_npx("version 1");
    let copy = home.path(".local/share/mcp-web/bin/mcp-web");
    let dry = InstallArguments {
        selection: Selection {
            dry_run: true,
            ..selection(&["cursor"])
        },
        ..arguments(&[])
    };
    home.install_with(&dry);
    assert!(!copy.exists());
    assert!(home.install("cursor").0);
    assert_eq!(std::fs::read(&copy).unwrap(), b"version 1");
    let command = &home.json(".cursor/mcp.json")["mcpServers"]["mcp-web"]["command"];
    assert_eq!(command.as_str(), copy.to_str());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(copy.metadata().unwrap().permissions().mode() & 0o777, 0o755);
    }
    std::fs::write(&home.environment.program, "version 2").unwrap();
    assert!(home.install("zed").0);
    assert_eq!(std::fs::read(&copy).unwrap(), b"version 2");
    let (_, output) = home.uninstall("zed");
    assert!(
        output.contains("~/.local/share/mcp-web/bin/mcp-web is the program"),
        "{output}"
    );
}

#[cfg(unix)]
#[test]
fn an_entry_names_the_link_on_the_path_that_stays_after_an_upgrade() {
    let mut home = TestHome::new();
    let program = home.write("Cellar/mcp-web/0.2.0/bin/mcp-web", "");
    let link = home.write("bin/x", "").with_file_name("mcp-web");
    std::os::unix::fs::symlink(&program, &link).unwrap();
    home.environment.program = program;
    let folder = home.path("bin").display().to_string();
    home.set("PATH", &folder);
    assert!(home.install("cursor").0);
    let command = &home.json(".cursor/mcp.json")["mcpServers"]["mcp-web"]["command"];
    assert_eq!(command.as_str(), link.to_str());
}
