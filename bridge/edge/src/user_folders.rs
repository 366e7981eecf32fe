//! The folders of the user who runs a program (XDG Base Directory Specification).

use std::path::PathBuf;

/// Returns the folder for the configuration of the user's programs. Returns `None` if the environment
/// names no home folder.
pub fn config_folder() -> Option<PathBuf> {
    user_folder(["APPDATA", "XDG_CONFIG_HOME"], ".config")
}

/// Returns the folder for what the user's programs keep between two runs. Returns `None` if the
/// environment names no home folder.
pub fn state_folder() -> Option<PathBuf> {
    user_folder(["LOCALAPPDATA", "XDG_STATE_HOME"], ".local/state")
}

/// Returns the folder that a variable names: the first on Windows, the second elsewhere, where a folder
/// in the home folder is the default.
fn user_folder([on_windows, elsewhere]: [&str; 2], in_home: &str) -> Option<PathBuf> {
    let from_env = |name: &str| {
        let path = PathBuf::from(std::env::var_os(name)?);
        path.is_absolute().then_some(path)
    };
    if cfg!(windows) {
        from_env(on_windows)
    } else {
        from_env(elsewhere).or_else(|| Some(from_env("HOME")?.join(in_home)))
    }
}
