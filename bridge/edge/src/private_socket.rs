//! A Unix socket that only its owner and root can use.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::SocketAddr;
use std::path::{Path, PathBuf};

use tokio::net::{UnixListener, UnixStream};
use uuid::Uuid;

use crate::private_file;
use crate::private_socket_error::PrivateSocketError;
use crate::state_folder::{FolderUse, check_owner};

const ROOT: u32 = 0;

/// Only the owner may connect.
const MODE: u32 = 0o600;

/// How many characters of a random name are used: the path of a socket may be no longer than about 100
/// bytes.
const RANDOM_NAME_CHARS: usize = 8;

/// A socket in the file system that accepts connections of its owner and of root. Its file is removed
/// when it is dropped.
#[derive(Debug)]
pub struct PrivateSocket {
    listener: UnixListener,
    path: PathBuf,
    file: FileId,
    /// The user who runs this program.
    owner: u32,
}

/// Identifies a file, whatever its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileId {
    device: u64,
    inode: u64,
}

impl PrivateSocket {
    /// Creates the socket, and its folder if that does not exist. It replaces the socket of a program
    /// that has ended.
    ///
    /// # Errors
    ///
    /// [`PrivateSocketError`] when a running program listens there, or when the path cannot be used.
    pub async fn bind(path: &Path) -> Result<Self, PrivateSocketError> {
        let unusable = |error| PrivateSocketError::Unusable(path.to_owned(), error);
        let exists = check_path(path)?;
        let folder = folder_of(path);
        private_file::create_folder(folder).map_err(unusable)?;
        check_owner(folder, FolderUse::Now).map_err(PrivateSocketError::Folder)?;
        if exists && !is_abandoned(path).await {
            return Err(PrivateSocketError::InUse(path.to_owned()));
        }
        Self::create(path).map_err(unusable)
    }

    /// Checks what [`Self::bind`] would find, except for a running program. It creates nothing.
    ///
    /// # Errors
    ///
    /// [`PrivateSocketError`] when the path cannot be used.
    pub fn check(path: &Path) -> Result<(), PrivateSocketError> {
        check_path(path)?;
        let folder = folder_of(path);
        if folder.is_dir() {
            check_owner(folder, FolderUse::Later).map_err(PrivateSocketError::Folder)?;
        }
        Ok(())
    }

    /// Creates the socket in a folder that others cannot enter, and moves it to its path once its
    /// permissions are set. So others cannot connect in between, and the path always has one socket.
    fn create(path: &Path) -> io::Result<Self> {
        let mut name = Uuid::new_v4().simple().to_string();
        name.truncate(RANDOM_NAME_CHARS);
        let private_folder = folder_of(path).join(format!(".{name}"));
        private_file::create_folder(&private_folder)?;
        let temporary = private_folder.join("s");
        let created = Self::create_at(&temporary, path);
        // After the move, the first one does not exist any more.
        let _ = fs::remove_file(&temporary);
        let _ = fs::remove_dir(&private_folder);
        created
    }

    fn create_at(temporary: &Path, path: &Path) -> io::Result<Self> {
        let listener = UnixListener::bind(temporary)?;
        fs::set_permissions(temporary, fs::Permissions::from_mode(MODE))?;
        let metadata = fs::symlink_metadata(temporary)?;
        fs::rename(temporary, path)?;
        Ok(Self {
            listener,
            path: path.to_owned(),
            file: FileId::from(&metadata),
            owner: metadata.uid(),
        })
    }

    /// Accepts the next connection of the owner or of root, and returns it with the id of that user.
    /// This method is cancel safe.
    ///
    /// # Errors
    ///
    /// When no connection can be accepted, for example because too many files are open.
    pub async fn accept(&self) -> io::Result<(UnixStream, u32)> {
        loop {
            let (stream, _) = self.listener.accept().await?;
            match stream.peer_cred().map(|peer| peer.uid()) {
                Ok(uid) if uid == self.owner || uid == ROOT => return Ok((stream, uid)),
                Ok(uid) => tracing::warn!(uid, "another user has connected to the private socket"),
                Err(error) => tracing::warn!(%error, "the user of a connection is unknown"),
            }
        }
    }
}

impl Drop for PrivateSocket {
    fn drop(&mut self) {
        // Another program may have replaced the socket.
        let metadata = fs::symlink_metadata(&self.path);
        if metadata.is_ok_and(|metadata| FileId::from(&metadata) == self.file) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl From<&fs::Metadata> for FileId {
    fn from(metadata: &fs::Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
        }
    }
}

fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// Checks that a path can be that of a socket. Returns whether one is there.
fn check_path(path: &Path) -> Result<bool, PrivateSocketError> {
    let unusable = |error| PrivateSocketError::Unusable(path.to_owned(), error);
    SocketAddr::from_pathname(path).map_err(unusable)?;
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.file_type().is_socket() => Ok(true),
        Ok(_) => Err(PrivateSocketError::NotASocket(path.to_owned())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(unusable(error)),
    }
}

/// Whether the program that has created a socket has ended. One that does not accept connections at the
/// moment is running all the same.
async fn is_abandoned(path: &Path) -> bool {
    let connected = UnixStream::connect(path).await;
    let kind = connected.map_err(|error| error.kind()).err();
    matches!(
        kind,
        Some(ErrorKind::ConnectionRefused | ErrorKind::NotFound)
    )
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[tokio::test]
    async fn the_socket_is_private_and_its_file_ends_with_it() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("run/admin.sock");
        let socket = PrivateSocket::bind(&path).await.unwrap();
        assert_eq!(mode(&path), MODE);
        assert_eq!(mode(path.parent().unwrap()), 0o700);
        let files = path.parent().unwrap().read_dir().unwrap();
        assert_eq!(files.count(), 1, "nothing temporary is left");
        let mut client = UnixStream::connect(&path).await.unwrap();
        let (_stream, uid) = socket.accept().await.unwrap();
        assert_eq!(uid, fs::metadata(parent.path()).unwrap().uid());
        client.write_all(b"x").await.unwrap();
        drop(socket);
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn the_socket_of_a_dead_program_is_replaced_and_that_of_a_living_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("admin.sock");
        // The file stays, as after a crash.
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        PrivateSocket::check(&path).unwrap();
        let living = PrivateSocket::bind(&path).await.unwrap();
        let error = PrivateSocket::bind(&path).await.unwrap_err();
        assert!(matches!(error, PrivateSocketError::InUse(_)), "{error}");
        UnixStream::connect(&path).await.unwrap();
        // A file that is not that of this socket stays.
        fs::remove_file(&path).unwrap();
        fs::write(&path, "other").unwrap();
        drop(living);
        assert_eq!(fs::read_to_string(&path).unwrap(), "other");
    }

    #[tokio::test]
    async fn a_path_that_is_not_safe_is_refused_before_a_start() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let open = folder.path().join("open");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o1777)).unwrap();
        for (path, message) in [
            (file.clone(), "is not a socket"),
            (open.join("admin.sock"), "others can write to"),
        ] {
            let checked = PrivateSocket::check(&path).unwrap_err().to_string();
            let bound = PrivateSocket::bind(&path).await.unwrap_err().to_string();
            assert!(checked.contains(message), "{checked}");
            assert!(bound.contains(message), "{bound}");
        }
        let long = folder.path().join("x".repeat(200));
        let error = PrivateSocket::bind(&long).await.unwrap_err();
        assert!(matches!(error, PrivateSocketError::Unusable(..)), "{error}");
    }
}
