//! The file of an audit log. It is opened for each write, because a program that rotates logs may
//! rename it.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The file of an audit log.
#[derive(Debug)]
pub(super) struct AuditFile {
    path: PathBuf,
    /// Whether the last write may have ended within a line.
    is_torn: bool,
}

impl AuditFile {
    pub(super) fn new(path: PathBuf) -> Self {
        Self {
            path,
            is_torn: false,
        }
    }

    /// Checks that the file can be written. A new one can only be read by its owner.
    pub(super) fn open(path: PathBuf) -> io::Result<Self> {
        let file = Self::new(path);
        file.open_to_append()?;
        Ok(file)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Appends lines.
    pub(super) fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        let mut file = self.open_to_append()?;
        if self.is_torn {
            file.write_all(b"\n")?;
        }
        self.is_torn = true;
        file.write_all(lines)?;
        self.is_torn = false;
        Ok(())
    }

    fn open_to_append(&self) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(&self.path)
    }
}
