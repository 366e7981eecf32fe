//! A connection for one call, which ends with it.

use std::future::poll_fn;
use std::task::{Poll, ready};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::{Client, Config, Connection, Transaction};

use super::super::error::DatabaseError;
use super::super::request::Slot;
use super::error::{connect_error, log_text};
use super::limited_stream::{LimitedStream, ReceivedBytes};
use super::server::{Address, ResolvedAddress};
use super::tls::TlsConnector;

/// How long a server may take until a connection to it can be used.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// How long a connection may take to end, and a statement to be cancelled.
pub(super) const END_TIMEOUT: Duration = Duration::from_secs(2);

/// A connection. Dropping it cancels what the server still does for it. It has the slot of its call
/// until it has ended.
pub(super) struct Session {
    /// `None` once it was finished.
    open: Option<OpenConnection>,
    received: ReceivedBytes,
    slot: Option<Slot>,
}

/// A connection that has not ended.
struct OpenConnection {
    client: Client,
    task: JoinHandle<()>,
    address: ResolvedAddress,
    tls: TlsConnector,
    tls_name: String,
}

impl Session {
    pub(super) async fn connect(
        address: &Address,
        config: &Config,
        tls: &TlsConnector,
        slot: Slot,
    ) -> Result<Self, DatabaseError> {
        let connecting = timeout(
            CONNECT_TIMEOUT,
            Self::connect_now(address, config, tls, slot),
        );
        connecting.await.unwrap_or_else(|_| {
            tracing::warn!("a database does not answer when it is connected to");
            Err(DatabaseError::Unavailable)
        })
    }

    async fn connect_now(
        address: &Address,
        config: &Config,
        tls: &TlsConnector,
        slot: Slot,
    ) -> Result<Self, DatabaseError> {
        let (stream, resolved) = address.connect().await.map_err(|error| {
            tracing::warn!(%error, "a database cannot be connected to");
            DatabaseError::Unavailable
        })?;
        let received = ReceivedBytes::default();
        let stream = LimitedStream::new(stream, received.clone());
        let tls_name = address.name().to_owned();
        let tls_stream = tls.for_stream(&stream, &tls_name);
        let connected = config.connect_raw(stream, tls_stream).await;
        let (client, connection) = connected.map_err(|error| connect_error(&error))?;
        let open = OpenConnection {
            client,
            task: tokio::spawn(drive(connection)),
            address: resolved,
            tls: tls.clone(),
            tls_name,
        };
        Ok(Self {
            open: Some(open),
            received,
            slot: Some(slot),
        })
    }

    /// Begins a transaction that only reads, until the end of the call.
    pub(super) async fn begin(&mut self) -> Result<Transaction<'_>, DatabaseError> {
        let (Some(open), Some(slot)) = (&mut self.open, &self.slot) else {
            return Err(DatabaseError::Fault);
        };
        let transaction = open
            .client
            .build_transaction()
            .read_only(true)
            .start()
            .await?;
        let left = slot.deadline.saturating_duration_since(Instant::now());
        // Zero would be no limit at all.
        let left = left.as_millis().max(1);
        let settings = format!(
            "SET LOCAL default_transaction_read_only = on; SET LOCAL statement_timeout = {left};
             SET LOCAL lock_timeout = {left};
             SET LOCAL idle_in_transaction_session_timeout = {left}"
        );
        transaction.batch_execute(&settings).await?;
        Ok(transaction)
    }

    /// Ends the connection of a call that has this result, and returns that, or that the server has
    /// sent too much.
    pub(super) fn finish<T>(
        mut self,
        result: Result<T, DatabaseError>,
    ) -> Result<T, DatabaseError> {
        if let Some(open) = self.open.take() {
            let slot = self.slot.take();
            tokio::spawn(async move {
                open.end().await;
                drop(slot);
            });
        }
        if self.received.are_too_many() {
            return Err(DatabaseError::OutOfMemory);
        }
        result
    }
}

/// Sends and receives until a connection ends. Notices of the server are dropped: they can contain
/// values of tables, which must not be logged.
async fn drive<S, T>(mut connection: Connection<S, T>)
where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    let ended = poll_fn(|context| {
        loop {
            match ready!(connection.poll_message(context)) {
                Some(Ok(_)) => {}
                Some(Err(error)) => return Poll::Ready(Err(error)),
                None => return Poll::Ready(Ok(())),
            }
        }
    });
    if let Err(error) = ended.await {
        tracing::debug!(
            error = log_text(&error),
            "a connection to a database has ended"
        );
    }
}

impl OpenConnection {
    /// Requests that the server stops the statement. The protocol requires another connection for this.
    async fn cancel(&self) -> Result<(), tokio_postgres::Error> {
        let Ok(stream) = self.address.connect().await else {
            // The server will see that its connection has ended.
            return Ok(());
        };
        let tls = self.tls.for_stream(&stream, &self.tls_name);
        self.client
            .cancel_token()
            .cancel_query_raw(stream, tls)
            .await
    }

    /// Waits for a while until the server has answered the last request, and disconnects.
    async fn end(self) {
        let abort = self.task.abort_handle();
        drop(self.client);
        let _ = timeout(END_TIMEOUT, self.task).await;
        abort.abort();
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let (Some(open), Ok(runtime)) = (self.open.take(), Handle::try_current()) else {
            return;
        };
        let slot = self.slot.take();
        runtime.spawn(async move {
            if !matches!(timeout(END_TIMEOUT, open.cancel()).await, Ok(Ok(()))) {
                tracing::debug!("a statement could not be cancelled");
            }
            open.end().await;
            drop(slot);
        });
    }
}
