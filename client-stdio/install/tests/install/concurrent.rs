//! Two installations at once.

use client_install::InstallArguments;

use crate::test_home::{TestHome, arguments};

#[test]
fn installations_at_once_all_have_their_entries() {
    for (client, path) in [
        ("cursor", ".cursor/mcp.json"),
        ("codex", ".codex/config.toml"),
    ] {
        let home = TestHome::new();
        home.write(path, "");
        let names: Vec<_> = (0..4).map(|number| format!("page-{number}")).collect();
        std::thread::scope(|scope| {
            for name in &names {
                let arguments = InstallArguments {
                    name: name.clone(),
                    ..arguments(&[client])
                };
                let home = &home;
                scope.spawn(move || {
                    let (is_fine, output) = home.install_with(&arguments);
                    assert!(is_fine, "{output}");
                });
            }
        });
        let text = home.read(path);
        for name in &names {
            assert!(text.contains(name.as_str()), "{text}");
        }
        // Neither a temporary file nor a second backup is left.
        assert_eq!(
            home.files(),
            [path.to_owned(), format!("{path}.before-mcp-web")]
        );
    }
}
