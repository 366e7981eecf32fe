//! The programs of this workspace, which tests start.

use std::env;
use std::path::PathBuf;

/// Returns a program of this workspace, in the same folder as the test or program that runs it. Tests of
/// other crates than its own are not built together with it.
///
/// # Panics
///
/// Panics if it was not built.
pub fn built_program(name: &str) -> PathBuf {
    let own = env::current_exe().unwrap();
    // target/<profile>/deps/<test> or target/<profile>/<program>
    let mut folders = own.ancestors().skip(1);
    let profile = folders.find(|folder| !folder.ends_with("deps")).unwrap();
    let path = profile.join(format!("{name}{}", env::consts::EXE_SUFFIX));
    assert!(
        path.exists(),
        "{name} is not at {}: run `cargo build -p mcp-web-cli` for mcp-web, or `cargo xtask test`",
        path.display()
    );
    path
}
