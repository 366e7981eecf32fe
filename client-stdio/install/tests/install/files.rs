//! Files on the disk: permissions, links, backups and what is in their place.

use crate::test_home::{TOKEN, TestHome};

const FILE: &str = ".cursor/mcp.json";
const BACKUP: &str = ".cursor/mcp.json.before-mcp-web";

#[cfg(unix)]
fn mode(home: &TestHome, path: &str) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    home.path(path).metadata().unwrap().permissions().mode() & 0o777
}

#[cfg(unix)]
fn set_mode(home: &TestHome, path: &str, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(home.path(path), std::fs::Permissions::from_mode(mode)).unwrap();
}

#[cfg(unix)]
#[test]
fn only_the_owner_can_read_a_file_with_a_token() {
    let home = TestHome::new();
    let (_, output) = home.install("cursor");
    assert_eq!((mode(&home, FILE), mode(&home, ".cursor")), (0o600, 0o700));
    assert!(!output.contains("only you"), "{output}");
    for (before, after, noted) in [
        (0o644, 0o600, true),
        (0o640, 0o600, true),
        (0o700, 0o700, false),
    ] {
        home.write(FILE, "{}");
        set_mode(&home, FILE, before);
        let (is_fine, output) = home.install("cursor");
        assert!(is_fine, "{output}");
        assert_eq!(mode(&home, FILE), after);
        assert_eq!(
            output.contains("only you can read the file now"),
            noted,
            "{output}"
        );
        assert_eq!(mode(&home, BACKUP), 0o600);
    }
}

#[test]
fn the_first_content_is_backed_up_once() {
    let home = TestHome::new();
    home.write(FILE, "{\"a\": 1}");
    assert!(home.install("cursor").0);
    assert_eq!(home.read(BACKUP), "{\"a\": 1}");
    home.write(FILE, "{\"a\": 2}");
    assert!(home.install("cursor").0);
    assert_eq!(home.read(BACKUP), "{\"a\": 1}");
    let home = TestHome::new();
    assert!(home.install("cursor").0);
    assert_eq!(home.files(), [FILE]);
}

#[cfg(unix)]
#[test]
fn a_symbolic_link_stays_one_and_its_target_is_changed() {
    let home = TestHome::new();
    let target = home.write("dotfiles/cursor.json", "{}");
    std::fs::create_dir_all(home.path(".cursor")).unwrap();
    std::os::unix::fs::symlink(&target, home.path(FILE)).unwrap();
    assert!(home.install("cursor").0);
    assert!(home.path(FILE).is_symlink());
    assert!(home.read("dotfiles/cursor.json").contains(TOKEN));
    assert!(home.uninstall("cursor").0);
    assert!(home.path(FILE).is_symlink());
    assert_eq!(home.read("dotfiles/cursor.json"), "{}");
}

#[cfg(unix)]
#[test]
fn a_link_to_a_file_that_does_not_exist_stays_one() {
    let home = TestHome::new();
    std::fs::create_dir_all(home.path(".cursor")).unwrap();
    std::os::unix::fs::symlink(home.path("target.json"), home.path(FILE)).unwrap();
    let (is_fine, output) = home.install("cursor");
    assert!(is_fine, "{output}");
    assert!(home.path(FILE).is_symlink(), "{output}");
    assert!(home.read("target.json").contains(TOKEN));
}

#[test]
fn what_is_not_a_file_is_refused() {
    let home = TestHome::new();
    std::fs::create_dir_all(home.path(FILE)).unwrap();
    for (is_fine, output) in [home.install("cursor"), home.uninstall("cursor")] {
        assert!(
            !is_fine && output.contains("it is not a regular file"),
            "{output}"
        );
    }
    let home = TestHome::new();
    home.write(".cursor", "");
    let (is_fine, output) = home.install("cursor");
    assert!(!is_fine && output.contains("cannot be"), "{output}");
    assert_eq!(home.read(".cursor"), "");
}

#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_cannot_be_written_is_an_error_with_its_path() {
    let mut home = TestHome::new();
    // Not even root can create files here.
    home.set("CODEX_HOME", "/proc/self");
    let (is_fine, output) = home.install("codex");
    assert!(
        !is_fine && output.contains("/proc/self/config.toml cannot be written"),
        "{output}"
    );
}

#[test]
fn one_client_that_fails_does_not_stop_the_others() {
    let home = TestHome::new();
    home.write(FILE, "{");
    let arguments = crate::test_home::arguments(&["cursor", "zed", "windsurf"]);
    let (is_fine, output) = home.install_with(&arguments);
    assert!(!is_fine && output.contains("Cursor: "), "{output}");
    for path in [
        ".config/zed/settings.json",
        ".codeium/windsurf/mcp_config.json",
    ] {
        assert!(home.read(path).contains(TOKEN), "{output}");
    }
    assert!(home.folder().is_dir());
}
