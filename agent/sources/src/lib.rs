//! The built-in sources of tools, and the file that configures them.
//!
//! - [`tools_file`] has the sources with their settings, and the profiles that grant their tools.
//! - [`database`] reads tables of SQLite and PostgreSQL, [`filesystem`] reads and writes files below
//!   folders, [`github`] uses the API of GitHub, and [`websearch`] asks a search engine.
//! - [`http_api`] sends the requests of the sources over HTTP.
#![warn(missing_docs)]

mod database;
mod filesystem;
mod github;
mod http_api;
mod tools_file;
mod websearch;

#[cfg(all(unix, feature = "postgres", any(test, feature = "testing")))]
pub use database::PostgresServer;
pub use database::{DatabaseSettings, READ_ARGUMENT, read_for_agent};
pub use filesystem::FilesystemSettings;
pub use github::GithubSettings;
pub use tools_file::{SourceEntry, SourceSettings, ToolsFile, ToolsFileError};
pub use websearch::WebsearchSettings;
