//! Files of `docs/deploy` with other ports, paths and accounts.

use std::fs;

use e2e::program_paths::workspace;

/// Returns a file of `docs/deploy`.
pub(crate) fn deploy_file(name: &str) -> String {
    let path = workspace().join("docs/deploy").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns a text in which each pattern is replaced. Panics if one of them is missing.
pub(crate) fn replaced(text: &str, patterns: &[(&str, &str)]) -> String {
    let mut text = text.to_owned();
    for (pattern, value) in patterns {
        assert!(text.contains(pattern), "{pattern:?} is not in:\n{text}");
        text = text.replace(pattern, value);
    }
    text
}
