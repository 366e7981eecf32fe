//! Reasons why an entry is not installed or removed.

use std::io;
use std::path::PathBuf;

use bridge_shared_files::excerpt;

/// Why a command ends. No file was changed, unless it is the output that cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The home folder is not known.
    #[error("the home folder is not known: set HOME (USERPROFILE on Windows)")]
    NoHome,
    /// The current folder is not known.
    #[error("the current folder is not known: {0}")]
    NoCurrentFolder(io::Error),
    /// The path of this program is not known, or is not Unicode.
    #[error("the path of this program is not known: {0}")]
    NoProgram(io::Error),
    /// A client is not in the table.
    #[error("`{name}` is not a client that this program knows: use one of {known}", name = excerpt(.0), known = .1)]
    UnknownClient(String, String),
    /// Which clients are meant is neither said nor asked.
    #[error("name the clients, as in `mcp-web {0} claude-code`, or use --all: {1}")]
    NoClientNamed(&'static str, String),
    /// None of the clients in the table was found.
    #[error("no AI client was found: name one, as in `mcp-web {0} claude-code`")]
    NoClientFound(&'static str),
    /// The name of the server has characters that a client does not allow.
    #[error(
        "--name must be 1 to 40 letters (a to z, A to Z), digits and hyphens: clients begin the names of tools with it"
    )]
    Name,
    /// The address of the bridge is invalid.
    #[error(
        "--url must be http://HOST:PORT/mcp or https://HOST/mcp, without spaces and credentials"
    )]
    Url,
    /// The token has characters that a header cannot have.
    #[error(
        "the token must be visible ASCII characters without spaces: copy it again from the page's configuration panel"
    )]
    Token,
    /// The token or an answer cannot be read.
    #[error("the input cannot be read: {0}")]
    Input(io::Error),
    /// The output cannot be written.
    #[error("the output cannot be written: {0}")]
    Output(io::Error),
    /// The program cannot be copied out of a cache.
    #[error("the program cannot be copied to {path}, where it stays: {error}", path = .0.display(), error = .1)]
    Copy(PathBuf, io::Error),
}

/// Why the entry of one client is not changed. Its file is unchanged.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EntryError {
    /// The file cannot be read.
    #[error("{path} cannot be read: {error}", path = .0.display(), error = .1)]
    Unreadable(PathBuf, io::Error),
    /// The file cannot be parsed, or has something other than servers at the key of servers.
    #[error("{path}: {problem}. Correct the file and try again", path = .0.display(), problem = .1)]
    Invalid(PathBuf, String),
    /// The change cannot be made in the text.
    #[error("{path} is written in a way that this program does not change ({problem}): change it by hand, with what `mcp-web install --print {client}` prints", path = .path.display())]
    Unchangeable {
        /// The file.
        path: PathBuf,
        /// The name of the client on the command line.
        client: &'static str,
        /// The part that cannot be changed.
        problem: String,
    },
    /// Another server has the name.
    #[error("{path} has a server `{name}` that does not start this program: choose another name with --name", path = .0.display(), name = .1)]
    NameTaken(PathBuf, String),
    /// The entry to remove is not ours.
    #[error("{path} has a server `{name}` that does not start this program: it stays", path = .0.display(), name = .1)]
    NotOurs(PathBuf, String),
    /// The client has no file for the scope.
    #[error("it has no file for a project")]
    NoProjectFile,
    /// The client starts programs only.
    #[error("it starts programs, and has no entries with an address: leave out --http")]
    NoHttp,
    /// The entry is new, and has no token.
    #[error("{}: a new entry needs a token: copy AUTH_TOKEN from the page's configuration panel, and pass it in the variable AUTH_TOKEN, or on standard input with --token-stdin", .0.display())]
    NoToken(PathBuf),
    /// Another program changes the file all the time.
    #[error("{} is changed by another program at this moment: try again", .0.display())]
    Changed(PathBuf),
    /// The file cannot be written.
    #[error("{path} cannot be written: {error}", path = .0.display(), error = .1)]
    Unwritable(PathBuf, io::Error),
}
