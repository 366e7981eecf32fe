//! The errors of a private socket.

use std::io;
use std::path::PathBuf;

use crate::state_folder::StateFolderError;

/// The reason why a socket cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum PrivateSocketError {
    /// The socket or its folder cannot be created.
    #[error(
        "{} cannot be created: {}; create its folder for the user who runs this program, and keep the \
         path below 100 bytes", .0.display(), .1
    )]
    Unusable(PathBuf, io::Error),
    /// Others could replace the socket.
    #[error(transparent)]
    Folder(StateFolderError),
    /// Something else has the name of the socket.
    #[error("{} is not a socket: remove it, or choose another path", .0.display())]
    NotASocket(PathBuf),
    /// A running program listens there.
    #[error("another program listens at {}: stop it, or choose another path", .0.display())]
    InUse(PathBuf),
    /// The system has no such sockets.
    #[error("this system has no private Unix sockets: do not set a path")]
    Unsupported,
}
