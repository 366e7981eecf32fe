//! The errors of a configuration file.

use std::fmt;
use std::path::PathBuf;

/// An error in a configuration file, with the file and the line. It never contains a secret.
#[derive(Debug, PartialEq, Eq)]
pub struct FileError {
    pub(super) path: PathBuf,
    pub(super) line: Option<usize>,
    pub(super) problem: String,
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.problem)
    }
}

/// An error in the text of a configuration file, at a byte offset.
#[derive(Debug)]
pub struct LocatedError {
    /// The offset in the text of the file, in bytes.
    pub offset: usize,
    /// What is wrong, and what is allowed instead.
    pub problem: String,
}
