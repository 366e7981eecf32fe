//! Which clients a command changes, and what a person is asked.

use client_install::{InstallArguments, InstallError, Selection, install};

use crate::test_home::{Script, TestHome, arguments, selection};

#[test]
fn without_a_terminal_clients_are_named() {
    let home = TestHome::new();
    let error = home.install_error(&arguments(&[]));
    assert!(matches!(error, InstallError::NoClientNamed(..)), "{error}");
    home.write(".cursor/x", "");
    let error = home.install_error(&arguments(&[])).to_string();
    assert!(
        error.contains("--all") && error.contains("cursor"),
        "{error}"
    );
    let error = home.install_error(&arguments(&["curser"])).to_string();
    assert!(
        error.contains("`curser`") && error.contains("claude-desktop"),
        "{error}"
    );
    assert_eq!(home.files(), [".cursor/x"]);
}

#[test]
fn all_without_a_client_is_an_error() {
    let all = InstallArguments {
        selection: Selection {
            all: true,
            ..selection(&[])
        },
        ..arguments(&[])
    };
    let error = TestHome::new().install_error(&all);
    assert!(matches!(error, InstallError::NoClientFound(_)), "{error}");
}

#[test]
fn a_person_is_asked_once_for_all_changes() {
    let mut home = TestHome::new();
    home.environment.variables.clear();
    home.write(".cursor/x", "");
    home.write(".config/zed/x", "");
    let mut person = Script {
        answer: false,
        ..Script::person()
    };
    assert!(!install(&arguments(&[]), &home.environment, &mut person).unwrap());
    assert_eq!(person.questions.len(), 2, "{:?}", person.questions);
    assert!(person.questions[0].contains("AUTH_TOKEN in its configuration panel"));
    assert_eq!(person.questions[1], "Change 2 files?");
    assert!(
        person.output.contains("~/.cursor/mcp.json"),
        "{}",
        person.output
    );
    assert_eq!(home.files(), [".config/zed/x", ".cursor/x"]);
    let mut person = Script::person();
    assert!(install(&arguments(&[]), &home.environment, &mut person).unwrap());
    assert_eq!(home.files().len(), 4);
    // A second time, an empty answer keeps the tokens, and nothing is to be changed.
    let mut person = Script {
        secret: String::new(),
        ..Script::person()
    };
    assert!(install(&arguments(&[]), &home.environment, &mut person).unwrap());
    assert_eq!(person.questions.len(), 1, "{:?}", person.questions);
    assert!(
        person.output.contains("Zed: up to date"),
        "{}",
        person.output
    );
}

#[test]
fn yes_answers_the_question() {
    let home = TestHome::new();
    let mut person = Script::person();
    let yes = InstallArguments {
        selection: Selection {
            yes: true,
            more_clients: vec!["cursor".to_owned(), "cursor".to_owned()],
            ..selection(&["cursor"])
        },
        ..arguments(&[])
    };
    assert!(install(&yes, &home.environment, &mut person).unwrap());
    assert!(person.questions.is_empty());
    assert_eq!(
        person.output.matches("Cursor: done").count(),
        1,
        "{}",
        person.output
    );
}

#[test]
fn names_and_addresses_are_checked() {
    let home = TestHome::new();
    let long = "a".repeat(41);
    for name in ["", "a b", "a_b", "a.b", "é", &long] {
        let error = home.install_error(&InstallArguments {
            name: name.to_owned(),
            ..arguments(&["cursor"])
        });
        assert!(matches!(error, InstallError::Name), "{name}: {error}");
    }
    for url in [
        "",
        "localhost:3001",
        "ftp://a/mcp",
        "http://",
        "http://a b/mcp",
        "http://u:p@h/mcp",
        "http://h/mcp?token=a",
        "http://h/#a",
    ] {
        let error = home.install_error(&InstallArguments {
            selection: Selection {
                url: url.to_owned(),
                ..selection(&["cursor"])
            },
            ..arguments(&[])
        });
        assert!(matches!(error, InstallError::Url), "{url}: {error}");
    }
    let (is_fine, output) = home.install_with(&InstallArguments {
        selection: Selection {
            url: "https://bridge.example".to_owned(),
            ..selection(&["cursor"])
        },
        ..arguments(&[])
    });
    assert!(is_fine, "{output}");
    assert!(
        home.read(".cursor/mcp.json")
            .contains("\"https://bridge.example/mcp\"")
    );
}
