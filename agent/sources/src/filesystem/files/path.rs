//! Paths as a model gives them.

use super::error::FileError;
use super::given_path::GivenPath;
use super::limits::{MAX_PATH_BYTES, MAX_ROOT_NAME_BYTES};
use super::temporary_file::is_temporary_name;

/// The path below a root that names the root itself.
const ROOT_ITSELF: &str = ".";

/// A path that is well-formed. A backslash in it is a character as any other.
#[derive(Debug, Clone, Copy)]
pub(super) struct FilePath<'a> {
    given: &'a str,
    root: &'a str,
    below_root: &'a str,
}

impl<'a> FilePath<'a> {
    /// Parses the path of a file or directory. One slash may follow it.
    pub(super) fn parse(given: &'a str) -> Result<Self, FileError> {
        let path = given.strip_suffix('/').unwrap_or(given);
        if let Some(reason) = invalid_reason(given, path) {
            return Err(FileError::InvalidPath(GivenPath::new(given), reason));
        }
        let (root, below_root) = path.split_once('/').unwrap_or((path, ROOT_ITSELF));
        Ok(Self {
            given,
            root,
            below_root,
        })
    }

    /// Checks that this can be the path of a file: it is below a root and no slash follows it.
    pub(super) fn check_file(&self) -> Result<(), FileError> {
        if self.below_root == ROOT_ITSELF || self.given.ends_with('/') {
            return Err(FileError::IsDirectory(self.given()));
        }
        Ok(())
    }

    /// Returns the path for an error.
    pub(super) fn given(&self) -> GivenPath {
        GivenPath::new(self.given)
    }

    /// Returns the name of the root.
    pub(super) fn root(&self) -> &'a str {
        self.root
    }

    /// Returns the path below the root, "." for the root itself.
    pub(super) fn below_root(&self) -> &'a str {
        self.below_root
    }

    /// Returns the path of the directory of a file below the root, and the name in it.
    pub(super) fn parent_and_name(&self) -> (&'a str, &'a str) {
        let split = self.below_root.rsplit_once('/');
        split.unwrap_or((ROOT_ITSELF, self.below_root))
    }
}

/// Whether a root may have this name.
pub(super) fn is_root_name(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    (1..=MAX_ROOT_NAME_BYTES).contains(&name.len()) && name.bytes().all(is_allowed)
}

/// Returns why a path is not well-formed, if so. `path` is `given` without a slash at its end.
fn invalid_reason(given: &str, path: &str) -> Option<&'static str> {
    if given.len() > MAX_PATH_BYTES {
        return Some("it is longer than 4096 bytes");
    }
    if given.is_empty() {
        return Some("it is empty");
    }
    if given.starts_with('/') {
        return Some("it begins with a slash");
    }
    if given.contains('\0') {
        return Some("it contains a NUL character");
    }
    path.split('/').find_map(|component| match component {
        "" => Some("it has two slashes in a row"),
        "." | ".." => Some("it has a part `.` or `..`"),
        _ if is_temporary_name(component) => Some("it has a name that this tool uses itself"),
        _ => None,
    })
}
