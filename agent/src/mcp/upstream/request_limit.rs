//! A transport that ends when a server sends too many requests. The client has no capabilities, so
//! that there is little to request: a server that pings without end would fill the memory with
//! answers that it does not read.

use rmcp::RoleClient;
use rmcp::model::JsonRpcMessage;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::time::{Duration, Instant};

/// The number of requests of a server in [`INTERVAL`].
const MAX_REQUESTS: u32 = 100;

/// The time in which requests are counted.
const INTERVAL: Duration = Duration::from_secs(10);

/// A transport that ends when a server sends too many requests.
#[derive(Debug)]
pub(super) struct RequestLimit<T> {
    transport: T,
    counter: RequestCounter,
}

impl<T> RequestLimit<T> {
    pub(super) fn new(transport: T) -> Self {
        Self {
            transport,
            counter: RequestCounter::new(),
        }
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for RequestLimit<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.transport.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let message = self.transport.receive().await?;
        let is_request = matches!(message, JsonRpcMessage::Request(_));
        if is_request && !self.counter.is_allowed(Instant::now()) {
            tracing::warn!("an MCP server sends too many requests: its connection is closed");
            return None;
        }
        Some(message)
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.transport.close()
    }
}

/// Counts requests in intervals.
#[derive(Debug)]
struct RequestCounter {
    interval_began_at: Instant,
    requests: u32,
}

impl RequestCounter {
    fn new() -> Self {
        Self {
            interval_began_at: Instant::now(),
            requests: 0,
        }
    }

    /// Counts a request. Returns whether it is one of those that are allowed.
    fn is_allowed(&mut self, now: Instant) -> bool {
        if now.duration_since(self.interval_began_at) >= INTERVAL {
            (self.interval_began_at, self.requests) = (now, 0);
        }
        self.requests += 1;
        self.requests <= MAX_REQUESTS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_in_intervals() {
        let mut counter = RequestCounter::new();
        let now = counter.interval_began_at;
        assert!((0..MAX_REQUESTS).all(|_| counter.is_allowed(now)));
        assert!(!counter.is_allowed(now + INTERVAL / 2));
        assert!(counter.is_allowed(now + INTERVAL));
    }
}
