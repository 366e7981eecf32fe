//! Conversations: what was said, called and answered in the queries of a person in an app.
//!
//! - [`key`] is the id of a conversation and whose it is, and [`turn`] is one query of a conversation as it is stored.
//! - [`database`] stores the turns in SQLite, in memory or in a file; only it uses `rusqlite`.
//! - [`summary`] is what the routes of conversations return.

mod database;
mod key;
mod summary;
mod turn;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use bridge_protocol::ErrorCode;
use tokio::task::spawn_blocking;

use crate::config::ConversationSettings;
use crate::failure::Failure;
use crate::model::Message;
use database::Database;
pub(crate) use database::OpenError;
pub(crate) use key::{ConversationKey, ConversationOwner};
pub(crate) use summary::{ConversationMessages, ConversationSummary};
pub(crate) use turn::Turn;

/// The conversations of all users.
#[derive(Clone)]
pub(crate) struct Conversations {
    database: Arc<Mutex<Database>>,
}

impl Conversations {
    /// Opens the store, in memory if there is no file.
    pub(crate) fn open(settings: &ConversationSettings) -> Result<Self, OpenError> {
        let database = Database::open(settings.clone())?;
        Ok(Self {
            database: Arc::new(Mutex::new(database)),
        })
    }

    /// Returns the messages of a conversation for the model: none if there is no such conversation.
    pub(crate) async fn messages(&self, key: ConversationKey) -> Result<Vec<Message>, Failure> {
        let turns = self
            .run(move |database, now| database.turns(&key, now))
            .await?;
        Ok(turns.into_iter().flat_map(Turn::into_messages).collect())
    }

    /// Appends a turn to a conversation, which begins with it if there was none.
    pub(crate) async fn append(&self, key: ConversationKey, turn: Turn) -> Result<(), Failure> {
        self.run(move |database, now| database.append(&key, &turn, now))
            .await
    }

    /// Lists the conversations of an owner, the newest first.
    pub(crate) async fn list(
        &self,
        owner: ConversationOwner,
    ) -> Result<Vec<ConversationSummary>, Failure> {
        self.run(move |database, now| database.list(&owner, now))
            .await
    }

    /// Returns a conversation for people, if it exists.
    pub(crate) async fn get(
        &self,
        key: ConversationKey,
    ) -> Result<Option<ConversationMessages>, Failure> {
        self.run(move |database, now| database.get(&key, now)).await
    }

    /// Deletes a conversation. It is no error if there is none.
    pub(crate) async fn delete(&self, key: ConversationKey) -> Result<(), Failure> {
        self.run(move |database, _| database.delete(&key)).await
    }

    /// Runs a statement on a thread that may block.
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Database, u64) -> Result<T, database::Error> + Send + 'static,
    ) -> Result<T, Failure> {
        let database = Arc::clone(&self.database);
        let working = spawn_blocking(move || {
            // A statement that was interrupted by a panic has been rolled back.
            let mut database = database.lock().unwrap_or_else(PoisonError::into_inner);
            work(&mut database, now_ms())
        });
        let error = match working.await {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(error)) => error.to_string(),
            Err(error) => error.to_string(),
        };
        tracing::error!(%error, "the conversations cannot be used");
        let message = "the agent cannot use its conversations, for the reason in its log";
        Err(Failure::new(ErrorCode::AgentFailed, message))
    }
}

impl fmt::Debug for Conversations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversations").finish_non_exhaustive()
    }
}

fn now_ms() -> u64 {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
    let since_epoch = since_epoch.unwrap_or_default();
    u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX)
}
