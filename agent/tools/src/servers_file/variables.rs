//! Where the values of variables come from.

use std::fmt::Debug;
use std::path::Path;

use bridge_shared_files::read_file;

use super::limits::MAX_SECRET_BYTES;

/// The values of variables in the definitions of servers.
pub(crate) trait Variables: Debug + Send + Sync {
    /// Returns the value of an environment variable, or `None` if it is not set.
    fn variable(&self, name: &str) -> Option<String>;

    /// Returns the content of a file.
    ///
    /// # Errors
    ///
    /// The reason why the content cannot be used. It must not quote the content.
    fn file(&self, path: &Path) -> Result<String, String>;

    /// Returns a stored secret, or `None` if there is none with this name.
    ///
    /// # Errors
    ///
    /// The reason why there can be none.
    fn secret(&self, _name: &str) -> Result<Option<String>, String> {
        Err("there are no secrets here".to_owned())
    }
}

/// The environment of this process, and the files of this machine. A variable whose value is not
/// UTF-8 counts as not set.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ProcessVariables;

impl Variables for ProcessVariables {
    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    fn file(&self, path: &Path) -> Result<String, String> {
        let bytes = read_file(path, MAX_SECRET_BYTES).map_err(|error| error.to_string())?;
        String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_and_files_of_this_machine_are_read() {
        assert!(ProcessVariables.variable("PATH").is_some());
        assert_eq!(ProcessVariables.variable("MCP_WEB_NO_SUCH_VARIABLE"), None);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        let largest = "a".repeat(MAX_SECRET_BYTES);
        std::fs::write(&path, &largest).unwrap();
        assert_eq!(ProcessVariables.file(&path), Ok(largest));
    }

    #[test]
    fn a_file_that_cannot_be_used_is_refused_with_words() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        let reason = |path: &Path| ProcessVariables.file(path).unwrap_err();
        assert!(reason(&path).contains("No such file"));
        assert!(reason(folder.path()).contains("not a regular file"));
        std::fs::write(&path, "a".repeat(MAX_SECRET_BYTES + 1)).unwrap();
        assert!(reason(&path).starts_with("it is larger than 65536 bytes"));
        std::fs::write(&path, [b'a', 0xff]).unwrap();
        assert_eq!(reason(&path), "it is not UTF-8");
    }
}
