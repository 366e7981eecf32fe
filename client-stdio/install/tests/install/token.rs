//! Where the token comes from.

use client_install::{InstallArguments, InstallError, install};

use crate::test_home::{Script, TOKEN, TestHome, arguments};

#[test]
fn the_token_comes_from_standard_input_first() {
    let home = TestHome::new();
    let from_input = InstallArguments {
        token_stdin: true,
        ..arguments(&["cursor"])
    };
    for input in [
        "other-token-of-a-page\n",
        " Bearer other-token-of-a-page \r\n",
    ] {
        let mut script = Script {
            input: input.to_owned(),
            ..Script::default()
        };
        assert!(install(&from_input, &home.environment, &mut script).unwrap());
        let text = home.read(".cursor/mcp.json");
        assert!(
            text.contains("\"other-token-of-a-page\"") && !text.contains(TOKEN),
            "{text}"
        );
    }
    for input in ["", "two words", "ümlaut"] {
        let mut script = Script {
            input: input.to_owned(),
            ..Script::default()
        };
        let error = install(&from_input, &home.environment, &mut script).unwrap_err();
        assert!(matches!(error, InstallError::Token), "{error}");
        assert!(
            input.is_empty() || !error.to_string().contains(input),
            "{error}"
        );
    }
}

#[test]
fn a_new_entry_needs_a_token_and_an_old_one_keeps_its_token() {
    let mut home = TestHome::new();
    home.environment.variables.clear();
    let (is_fine, output) = home.install("cursor");
    assert!(!is_fine && output.contains("--token-stdin"), "{output}");
    assert_eq!(home.files(), [""; 0]);
    home.set("AUTH_TOKEN", TOKEN);
    assert!(home.install("cursor").0);
    home.environment.variables.clear();
    home.environment.program = "/new/mcp-web".into();
    for http in [false, true, false] {
        let (is_fine, output) = home.install_with(&InstallArguments {
            http,
            ..arguments(&["cursor"])
        });
        assert!(is_fine, "{output}");
        let text = home.read(".cursor/mcp.json");
        assert!(text.contains(TOKEN), "{text}");
        assert_eq!(text.contains("/new/mcp-web"), !http, "{text}");
    }
}
