//! The files that an installation for all clients writes into an empty home, on each system.

use std::fmt::Write;

use client_install::{CLIENTS, InstallArguments, InstallScope, Selection, System};

use crate::test_home::{TestHome, arguments, files_below, selection};

/// Returns the path and the content of the file of each client.
fn installed(system: System, http: bool, scope: InstallScope) -> String {
    let mut text = String::new();
    for client in CLIENTS {
        let mut home = TestHome::on(system);
        if system == System::Windows {
            let app_data = home.path("AppData/Roaming").display().to_string();
            home.set("APPDATA", &app_data);
        }
        let arguments = InstallArguments {
            http,
            selection: Selection {
                scope,
                ..selection(&[client.id])
            },
            ..arguments(&[])
        };
        let (is_fine, output) = home.install_with(&arguments);
        writeln!(text, "=== {}", client.id).unwrap();
        if !is_fine || !output.contains("done") {
            let home = home.environment.home.display().to_string();
            writeln!(text, "{}", output.trim_end().replace(&home, "~")).unwrap();
            continue;
        }
        let root = match scope {
            InstallScope::User => &home.environment.home,
            InstallScope::Project => &home.environment.project,
        };
        let files = files_below(root);
        let [file] = &files[..] else {
            panic!("{files:?}")
        };
        let content = std::fs::read_to_string(root.join(file)).unwrap();
        writeln!(text, "{file}\n{content}").unwrap();
        // A second installation changes nothing.
        let (is_fine, output) = home.install_with(&arguments);
        assert!(is_fine && output.contains("up to date"), "{output}");
    }
    text
}

/// Compares a text with a golden file. With `MCP_WEB_WRITE_GOLDEN`, the file is written instead.
fn check(name: &str, text: &str) {
    let path = format!("{}/tests/install/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("MCP_WEB_WRITE_GOLDEN").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = |(golden, line): &(&str, &str)| golden != line;
    let difference = golden.lines().zip(text.lines()).find(differs);
    assert!(
        golden == text,
        "{name} differs: {difference:?}. If the new text is right, run the test with MCP_WEB_WRITE_GOLDEN=1"
    );
}

#[test]
fn each_client_gets_its_file_on_linux() {
    check(
        "linux.txt",
        &installed(System::Linux, false, InstallScope::User),
    );
}

#[test]
fn each_client_gets_its_file_on_macos() {
    check(
        "macos.txt",
        &installed(System::MacOs, false, InstallScope::User),
    );
}

#[test]
fn each_client_gets_its_file_on_windows() {
    check(
        "windows.txt",
        &installed(System::Windows, false, InstallScope::User),
    );
}

#[test]
fn each_client_gets_an_entry_with_an_address() {
    check(
        "http.txt",
        &installed(System::Linux, true, InstallScope::User),
    );
}

#[test]
fn each_client_gets_its_file_in_a_project() {
    check(
        "project.txt",
        &installed(System::Linux, false, InstallScope::Project),
    );
}
