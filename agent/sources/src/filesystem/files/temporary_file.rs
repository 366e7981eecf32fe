//! New content until it replaces a file.

use std::io::{self, Write};

use cap_std::fs::{Dir, File, OpenOptions, Permissions};
use uuid::Uuid;

/// How a name begins and ends that a temporary file has, also one that a crash has left.
const PREFIX: &str = ".mcp-web-";
const SUFFIX: &str = ".tmp";

/// A file in the directory of the one that it replaces. It is removed unless it was renamed.
#[derive(Debug)]
pub(super) struct TemporaryFile<'a> {
    directory: &'a Dir,
    name: String,
    file: File,
    /// Those of the file that it replaces, if there is one.
    permissions: Option<Permissions>,
    renamed: bool,
}

impl<'a> TemporaryFile<'a> {
    /// Creates an empty file. Until it is written, only its owner may read content that gets the
    /// permissions of another file.
    pub(super) fn create(directory: &'a Dir, permissions: Option<Permissions>) -> io::Result<Self> {
        let name = format!("{PREFIX}{}{SUFFIX}", Uuid::new_v4().simple());
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        {
            use cap_std::fs::OpenOptionsExt;
            // The operating system subtracts the umask, which can be read only by changing it for the
            // whole process.
            options.mode(if permissions.is_some() { 0o600 } else { 0o644 });
        }
        Ok(Self {
            file: directory.open_with(&name, &options)?,
            directory,
            name,
            permissions,
            renamed: false,
        })
    }

    /// Writes the content and the permissions to the disk.
    pub(super) fn write(&mut self, content: &[u8]) -> io::Result<()> {
        self.file.write_all(content)?;
        if let Some(permissions) = self.permissions.take() {
            self.file.set_permissions(without_privileges(permissions))?;
        }
        self.file.sync_all()
    }

    /// Replaces the file of this name in the directory, if there is one.
    pub(super) fn rename(mut self, name: &str) -> io::Result<()> {
        self.directory.rename(&self.name, self.directory, name)?;
        self.renamed = true;
        Ok(())
    }
}

impl Drop for TemporaryFile<'_> {
    fn drop(&mut self) {
        if !self.renamed {
            // If this fails too, the file stays, and no listing shows it.
            let _ = self.directory.remove_file(&self.name);
        }
    }
}

/// Whether a name is one of a temporary file.
pub(super) fn is_temporary_name(name: &str) -> bool {
    name.starts_with(PREFIX) && name.ends_with(SUFFIX)
}

/// Returns permissions with which no user can run the new content as its owner.
#[cfg(unix)]
fn without_privileges(permissions: Permissions) -> Permissions {
    use cap_std::fs::PermissionsExt;
    Permissions::from_mode(permissions.mode() & 0o777)
}

#[cfg(not(unix))]
fn without_privileges(permissions: Permissions) -> Permissions {
    permissions
}
