//! Conversations: the messages, calls and results in the queries of a person in an app.
//!
//! - [`key`] is the id of a conversation and its owner.
//! - [`stored_query`] is one stored query of a conversation, and [`encoded_query`] its JSON.
//! - [`database`] stores the queries in SQLite, in memory or in a file; only it uses `rusqlite`.
//! - [`summary`] is the response of the routes of conversations.

mod database;
mod encoded_query;
mod key;
mod stored_query;
mod summary;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use agent_tools::AgentFailure;
use bridge_protocol::{ErrorCode, to_well_formed};
use tokio::task::spawn_blocking;

use crate::config::ConversationSettings;
use crate::model::ModelMessage;
pub(crate) use database::OpenError;
use database::{BUSY_TIMEOUT, Database};
use encoded_query::EncodedQuery;
pub(crate) use key::{ConversationKey, ConversationOwner, check_conversation_id};
pub(crate) use stored_query::StoredQuery;
pub(crate) use summary::{ConversationMessages, ConversationSummary};

/// The conversations of all users.
#[derive(Clone)]
pub(crate) struct ConversationStore {
    database: Arc<Mutex<Database>>,
    max_conversation_bytes: usize,
}

impl ConversationStore {
    /// Opens the store, in memory without a file.
    pub(crate) fn open(settings: &ConversationSettings) -> Result<Self, OpenError> {
        let database = Database::open(settings.clone(), now_ms())?;
        Ok(Self {
            database: Arc::new(Mutex::new(database)),
            max_conversation_bytes: settings.max_conversation_bytes,
        })
    }

    /// Returns the messages of a conversation for the model: none if the conversation does not
    /// exist.
    pub(crate) async fn messages(
        &self,
        key: ConversationKey,
    ) -> Result<Vec<ModelMessage>, AgentFailure> {
        self.run(move |store| {
            let queries = store.lock(|database, now| database.queries(&key, now))?;
            let queries = decode(queries).into_iter();
            Ok(queries.flat_map(StoredQuery::into_messages).collect())
        })
        .await
    }

    /// Appends a query to a conversation, which begins with it if there was none.
    pub(crate) async fn append(
        &self,
        key: ConversationKey,
        query: StoredQuery,
    ) -> Result<(), AgentFailure> {
        self.run(
            move |store| match EncodedQuery::new(query, store.max_conversation_bytes) {
                Some(query) => store.lock(|database, now| database.append(&key, &query, now)),
                None => Ok(()),
            },
        )
        .await
    }

    /// Drops what was asked and answered after this many prompts of a conversation. Returns how many
    /// queries it still has.
    pub(crate) async fn keep_prompts(
        &self,
        key: ConversationKey,
        prompts: usize,
    ) -> Result<usize, AgentFailure> {
        self.run(move |store| store.lock(|database, now| database.keep_prompts(&key, prompts, now)))
            .await
    }

    /// Lists the conversations of an owner, the newest first.
    pub(crate) async fn list(
        &self,
        owner: ConversationOwner,
    ) -> Result<Vec<ConversationSummary>, AgentFailure> {
        self.run(move |store| store.lock(|database, now| database.list(&owner, now)))
            .await
    }

    /// Returns a conversation for people, if it exists.
    pub(crate) async fn get(
        &self,
        key: ConversationKey,
    ) -> Result<Option<ConversationMessages>, AgentFailure> {
        self.run(move |store| {
            let found = store.lock(|database, now| database.get(&key, now))?;
            Ok(found.map(|(summary, queries)| ConversationMessages::new(summary, decode(queries))))
        })
        .await
    }

    /// Deletes a conversation. It is not an error if it does not exist.
    pub(crate) async fn delete(&self, key: ConversationKey) -> Result<(), AgentFailure> {
        self.run(move |store| store.lock(|database, _| database.delete(&key)))
            .await
    }

    /// Runs work on a thread that may block. It locks the database only for its statements.
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, database::Error> + Send + 'static,
    ) -> Result<T, AgentFailure> {
        let store = self.clone();
        let error = match spawn_blocking(move || work(&store)).await {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(error)) => error.to_string(),
            Err(error) => error.to_string(),
        };
        tracing::error!(%error, "the conversations cannot be used");
        let message = "the agent cannot use its conversations, for the reason in its log";
        Err(AgentFailure::new(ErrorCode::AgentFailed, message))
    }

    /// Runs a statement.
    fn lock<T>(
        &self,
        statement: impl FnOnce(&mut Database, u64) -> Result<T, database::Error>,
    ) -> Result<T, database::Error> {
        let started = Instant::now();
        // A statement that was interrupted by a panic has been rolled back.
        let database = self.database.lock();
        let mut database = database.unwrap_or_else(PoisonError::into_inner);
        // While the file is locked, all wait at the same time and not one after the other.
        database.set_busy_timeout(BUSY_TIMEOUT.saturating_sub(started.elapsed()))?;
        statement(&mut database, now_ms())
    }
}

/// Decodes the queries of a conversation. One that another version or program wrote in another form is
/// left out. Surrogates without a partner become U+FFFD.
fn decode(queries: Vec<String>) -> Vec<StoredQuery> {
    let stored = queries.len();
    let queries = queries.into_iter();
    let decoded = queries.filter_map(|json| serde_json::from_str(&to_well_formed(&json)).ok());
    let decoded: Vec<_> = decoded.collect();
    let unreadable = stored - decoded.len();
    if unreadable > 0 {
        tracing::warn!(
            unreadable,
            "queries of a conversation cannot be read: they are left out"
        );
    }
    decoded
}

impl fmt::Debug for ConversationStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversations").finish_non_exhaustive()
    }
}

fn now_ms() -> u64 {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
    let since_epoch = since_epoch.unwrap_or_default();
    u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
