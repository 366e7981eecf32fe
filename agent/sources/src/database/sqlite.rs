//! Reads a file of SQLite. No statement is trusted, and several layers confine it:
//!
//! 1. [`reader_process`] starts a process for each call, and kills it when the time is over: SQLite
//!    does not stop every statement on request, and its memory can only be limited for a process.
//!    [`read_command`] is that process.
//! 2. [`connection`] opens the file read-only, and bounds the time, the memory and all sizes.
//! 3. [`names_check`] prepares the statement where only the listed tables exist.
//! 4. [`authorizer`] decides about each table and function that SQLite is about to use.
//! 5. [`statement`] runs it if it is one SELECT, and bounds the answer.
//!
//! [`file`] answers a call with them. [`cancellation`] stops an abandoned call, [`functions`]
//! replaces functions that take too long, [`schema`] describes the tables, and [`error`] explains
//! the errors of SQLite.

mod authorizer;
mod cancellation;
mod connection;
mod error;
mod file;
mod functions;
mod names_check;
mod read_command;
mod reader_process;
mod schema;
mod statement;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::task::spawn_blocking;

use super::allowed_tables::AllowedTables;
use super::error::DatabaseError;
use super::request::{Request, Slot};
use cancellation::{CancelOnDrop, Cancellation};
use file::{DatabaseFile, FileRequest};
pub use read_command::{READ_ARGUMENT, read_for_agent};

/// A file of SQLite, which is opened anew for each call.
#[derive(Clone, Debug)]
pub(super) struct Sqlite {
    file: Arc<DatabaseFile>,
    /// The program that reads it in a separate process. Without one, this process reads it.
    own_program: Option<PathBuf>,
}

impl Sqlite {
    /// Checks that there is a file.
    pub(super) fn open(
        path: &Path,
        allowed: Arc<AllowedTables>,
        own_program: Option<&Path>,
    ) -> Result<Self, String> {
        // SQLite reads `:memory:` and `file:…` as something else than a path, but no absolute path.
        match std::path::absolute(path) {
            Ok(path) if path.is_file() => Ok(Self {
                file: Arc::new(DatabaseFile::new(path, allowed)),
                own_program: own_program.map(Path::to_owned),
            }),
            _ => Err("`url` names no file that exists: correct it, or create the database".into()),
        }
    }

    pub(super) async fn answer(
        &self,
        request: Request,
        slot: Slot,
    ) -> Result<String, DatabaseError> {
        self.read(FileRequest::Call(request), slot).await
    }

    /// Opens the file, and returns warnings for the operator.
    pub(super) async fn warnings(&self, slot: Slot) -> Result<Vec<String>, DatabaseError> {
        let warnings = self.read(FileRequest::Warnings, slot).await?;
        serde_json::from_str(&warnings).map_err(|_| DatabaseError::Fault)
    }

    /// Reads the file. Dropping the future stops that.
    async fn read(&self, request: FileRequest, slot: Slot) -> Result<String, DatabaseError> {
        match &self.own_program {
            Some(program) => reader_process::read(program, &self.file, request, slot).await,
            None => self.read_in_this_process(request, slot).await,
        }
    }

    /// Reads the file on a thread that may block.
    async fn read_in_this_process(
        &self,
        request: FileRequest,
        slot: Slot,
    ) -> Result<String, DatabaseError> {
        let cancellation = Arc::new(Cancellation::new(slot.deadline));
        let _guard = CancelOnDrop(Arc::clone(&cancellation));
        let file = Arc::clone(&self.file);
        let reading = spawn_blocking(move || {
            // It is free for another call when this one has really ended.
            let _slot = slot;
            file.read(request, &cancellation)
        });
        reading.await.unwrap_or(Err(DatabaseError::Fault))
    }
}
