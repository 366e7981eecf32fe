//! Files in the directories that an operator opens to a model: its tools read, list and write them.
//!
//! - [`path`] is a path `<root>/<path below it>` as a model gives it.
//! - [`listing`] is the entries of a directory.
//! - [`temporary_file`] is new content until it replaces a file.
//! - [`limits`] are limits of files.
//! - [`error`] is why a file could not be read, listed or written, for the model;
//!   [`given_path`] is the path in it.
//!
//! The text of a path is checked, but another check confines it: `cap-std` resolves every path
//! below the open handle of its root and refuses paths that lead out of it, even if a link appears
//! during a call. A hard link is not a link in this sense: it names a file of its directory.

mod error;
mod given_path;
mod limits;
mod listing;
mod path;
mod temporary_file;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, OpenOptions, Permissions};

pub(crate) use error::FileError;
use limits::MAX_FILE_BYTES;
pub(crate) use listing::{EntryKind, Listing, ListingEntry};
use path::{FilePath, is_root_name};
use temporary_file::TemporaryFile;

/// The directories that a model may use, by name. Every method blocks.
#[derive(Debug)]
pub(crate) struct Files {
    roots: BTreeMap<String, Dir>,
    read_only: bool,
}

/// The content of a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FileContent {
    Text(String),
    /// Content that is not UTF-8, in base64.
    Binary {
        base64: String,
        /// The size of the file, in bytes.
        size: usize,
    },
}

impl Files {
    /// Opens the roots. Only here a path of the host is used; each root stays the directory that it
    /// was then, also if another one takes its path.
    pub(crate) fn open(roots: &BTreeMap<String, PathBuf>, read_only: bool) -> Result<Self, String> {
        let roots = roots
            .iter()
            .map(|(name, path)| Ok((name.clone(), open_root(name, path)?)));
        Ok(Self {
            roots: roots.collect::<Result<_, String>>()?,
            read_only,
        })
    }

    /// Reads a regular file of at most [`MAX_FILE_BYTES`]. A link to one below the same root is
    /// followed.
    pub(crate) fn read(&self, path: &str) -> Result<FileContent, FileError> {
        let (root, path) = self.resolve(path)?;
        path.check_file()?;
        let file = open_to_read(root, &path)?;
        let mut content = Vec::new();
        // One byte more than allowed, since the size that the metadata states may be wrong.
        file.take(MAX_FILE_BYTES as u64 + 1)
            .read_to_end(&mut content)
            .map_err(|error| FileError::from_io(error, path.given()))?;
        if content.len() > MAX_FILE_BYTES {
            return Err(FileError::FileTooLarge(path.given()));
        }
        Ok(FileContent::new(content))
    }

    /// Lists a directory, or the roots if the path is empty, "/" or ".".
    pub(crate) fn list(&self, path: &str) -> Result<Listing, FileError> {
        if matches!(path, "" | "/" | ".") {
            return Ok(Listing::of_roots(self.roots.keys()));
        }
        let (root, path) = self.resolve(path)?;
        root.read_dir(path.below_root())
            .and_then(Listing::read)
            .map_err(|error| FileError::from_io(error, path.given()))
    }

    /// Writes a file of at most [`MAX_FILE_BYTES`] in a directory that exists, atomically: no
    /// reader sees a part of the content.
    ///
    /// It may replace only a regular file that may be written. The new file has the mode of the
    /// old one, but not its owner, and other hard links still name the old one.
    pub(crate) fn write(&self, path: &str, content: &[u8]) -> Result<(), FileError> {
        let (root, path) = self.resolve(path)?;
        path.check_file()?;
        if self.read_only {
            return Err(FileError::ReadOnly(path.given()));
        }
        if content.len() > MAX_FILE_BYTES {
            return Err(FileError::ContentTooLarge(path.given(), content.len()));
        }
        let (parent, name) = path.parent_and_name();
        let parent = open_parent(root, parent, &path)?;
        let permissions = check_replaceable(&parent, name, &path)?;
        replace(&parent, name, permissions, content)
            .map_err(|error| FileError::from_io(error, path.given()))
    }

    /// Returns the root of a path, and the path.
    fn resolve<'a>(&self, path: &'a str) -> Result<(&Dir, FilePath<'a>), FileError> {
        let path = FilePath::parse(path)?;
        match self.roots.get(path.root()) {
            Some(root) => Ok((root, path)),
            None => Err(FileError::unknown_root(path.given(), self.roots.keys())),
        }
    }
}

impl FileContent {
    fn new(content: Vec<u8>) -> Self {
        String::from_utf8(content).map_or_else(
            |error| Self::Binary {
                base64: STANDARD.encode(error.as_bytes()),
                size: error.as_bytes().len(),
            },
            Self::Text,
        )
    }
}

/// Opens a root, and lists it: a directory that may not be listed can be opened.
fn open_root(name: &str, path: &Path) -> Result<Dir, String> {
    if !is_root_name(name) {
        return Err(format!(
            "the name of the root {name:?} at {path:?} is not valid: \
             use 1 to 32 ASCII letters, digits, `_` or `-`"
        ));
    }
    let opened = Dir::open_ambient_dir(path, ambient_authority()).and_then(|directory| {
        directory.entries()?;
        Ok(directory)
    });
    opened.map_err(|error| {
        format!(
            "the root {name:?} at {path:?} cannot be opened: {error}: \
             make it a directory that the agent may read, or correct its path"
        )
    })
}

/// Opens a regular file. What it is, is read from the open file, so that nothing can take its place.
fn open_to_read(root: &Dir, path: &FilePath) -> Result<File, FileError> {
    let opened = root.open_with(path.below_root(), open_options().read(true));
    let opened = opened.and_then(|file| Ok((file.metadata()?, file)));
    match opened {
        Ok((metadata, file)) if metadata.is_file() => Ok(file),
        Ok((metadata, _)) if metadata.is_dir() => Err(FileError::IsDirectory(path.given())),
        Ok(_) => Err(FileError::NotRegular(path.given())),
        Err(error) if is_no_device(&error) => Err(FileError::NotRegular(path.given())),
        Err(error) => Err(FileError::from_io(error, path.given())),
    }
}

/// Returns options that do not wait, as for the other end of a named pipe, and do not make a terminal
/// that of the agent.
fn open_options() -> OpenOptions {
    #[cfg_attr(not(unix), expect(unused_mut))]
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    {
        use cap_std::fs::OpenOptionsExt;
        use rustix::fs::OFlags;
        options.custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed());
    }
    options
}

/// Whether a socket was opened, or a device that does not exist.
#[cfg(unix)]
fn is_no_device(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error())
}

#[cfg(not(unix))]
fn is_no_device(_: &io::Error) -> bool {
    false
}

fn open_parent(root: &Dir, parent: &str, path: &FilePath) -> Result<Dir, FileError> {
    root.open_dir(parent).map_err(|error| match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => FileError::NoParent(path.given()),
        _ => FileError::from_io(error, path.given()),
    })
}

/// Returns the permissions of the file that is replaced, if there is one.
///
/// A file that takes its place afterwards is also replaced, and nothing else: a rename follows no
/// link.
fn check_replaceable(
    parent: &Dir,
    name: &str,
    path: &FilePath,
) -> Result<Option<Permissions>, FileError> {
    let metadata = match parent.symlink_metadata(name) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        metadata => metadata.map_err(|error| FileError::from_io(error, path.given()))?,
    };
    if metadata.is_symlink() {
        return Err(FileError::IsLink(path.given()));
    }
    if metadata.is_dir() {
        return Err(FileError::IsDirectory(path.given()));
    }
    if !metadata.is_file() {
        return Err(FileError::NotRegular(path.given()));
    }
    // A rename asks only whether the directory may be written. The bits are for an agent that runs as
    // root, which may open every file.
    if metadata.permissions().readonly() {
        return Err(FileError::Denied(path.given()));
    }
    parent
        .open_with(name, open_options().write(true))
        .map_err(|error| FileError::from_io(error, path.given()))?;
    Ok(Some(metadata.permissions()))
}

fn replace(
    parent: &Dir,
    name: &str,
    permissions: Option<Permissions>,
    content: &[u8],
) -> io::Result<()> {
    let mut file = TemporaryFile::create(parent, permissions)?;
    file.write(content)?;
    file.rename(name)
}
