//! The description of an AI client: where its configuration is, and what an entry looks like there.

use crate::environment::{BaseFolder, System};

/// An AI client that starts or contacts MCP servers from its configuration.
#[derive(Debug)]
pub struct Client {
    /// The name on the command line.
    pub id: &'static str,
    /// The name of the product.
    pub name: &'static str,
    /// The places of the user's file.
    pub(crate) files: UserFiles,
    /// The path of the file in a project, if the client reads one.
    pub(crate) project: Option<&'static str>,
    /// Whether the client is installed.
    pub(crate) sign: Sign,
    /// The name of its program, if it is one for the command line.
    pub(crate) program: Option<&'static str>,
    pub(crate) format: FileFormat,
    /// The key below which the servers are.
    pub(crate) key: &'static str,
    /// The members of an entry with a program.
    pub(crate) stdio: &'static [Member],
    /// The members of an entry with a URL, if the client has such entries.
    pub(crate) http: Option<&'static [Member]>,
    /// The step after a change for the person.
    pub afterwards: &'static str,
}

impl Client {
    /// Returns the places of the user's file, of which the first is used whose folder exists, or else
    /// the last.
    pub(crate) fn locations(&self, system: System) -> &'static [Location] {
        match system {
            System::Linux => self.files.linux,
            System::MacOs => self.files.macos,
            System::Windows => self.files.windows,
        }
    }
}

/// The places of the user's file on each system.
#[derive(Debug)]
pub(crate) struct UserFiles {
    pub(crate) linux: &'static [Location],
    pub(crate) macos: &'static [Location],
    pub(crate) windows: &'static [Location],
}

impl UserFiles {
    /// Returns places that are the same on all systems.
    pub(crate) const fn everywhere(places: &'static [Location]) -> Self {
        Self {
            linux: places,
            macos: places,
            windows: places,
        }
    }
}

/// A place of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Location {
    pub(crate) base: BaseFolder,
    /// The path below the folder. A component may end with `*`, and the path with `.json[c]`.
    pub(crate) path: &'static str,
}

/// A sign that a client is installed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sign {
    /// The folder of the file exists, or that many folders above.
    Folder(usize),
    /// One of these files or folders in the home folder exists.
    Any(&'static [&'static str]),
}

/// The format of a configuration file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileFormat {
    /// JSON, which may have comments and trailing commas.
    Jsonc,
    /// TOML.
    Toml,
    /// YAML, which is only printed.
    Yaml,
}

/// A member of an entry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    pub(crate) key: &'static str,
    pub(crate) content: MemberValue,
}

/// The value of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemberValue {
    /// A fixed text, such as the type of the entry.
    Text(&'static str),
    /// The name of the server.
    Name,
    /// The path of the program.
    Program,
    /// The arguments of the program.
    Arguments,
    /// The program and its arguments.
    CommandLine,
    /// The environment variables of the program, with the token.
    Variables,
    /// The address of the bridge.
    Url,
    /// The headers of requests, with the token.
    Headers,
    /// A setting of a new entry, which the person may change.
    Default(DefaultValue),
}

/// The value of a setting in a new entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DefaultValue {
    True,
    False,
    Number(u32),
    /// A list with `*`.
    All,
}

/// Returns a member of an entry.
pub(crate) const fn member(key: &'static str, content: MemberValue) -> Member {
    Member { key, content }
}

/// Returns a place of a file.
pub(crate) const fn location(base: BaseFolder, path: &'static str) -> Location {
    Location { base, path }
}
