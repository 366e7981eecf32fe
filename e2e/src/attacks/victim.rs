//! A client at another address than the attacker, with a token and a page of its own.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use anyhow::{Result, ensure};
use serde::Serialize;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::client::mcp_call;
use crate::idle::{DefinitionSets, Page, registration_message};
use crate::latencies::Latencies;
use crate::load::connection::Connection;

/// The address of the victim.
const SOURCE: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 3));

/// The token of the victim.
const VICTIM_TOKEN: &str = "the-token-of-the-victim-0123456789abcdef";

/// The token of pages that come and go at the victim's address.
const NEWCOMER_TOKEN: &str = "the-token-of-the-newcomer-0123456789abcdef";

/// The time between two calls: so long that a call does not wait for the one before.
const CALL_INTERVAL: Duration = Duration::from_millis(10);

/// Each call after so many others has a connection of its own.
const CALLS_PER_CONNECTION: usize = 10;

/// The time between two requests to `/healthz`.
const HEALTH_INTERVAL: Duration = Duration::from_millis(50);

/// The time between two pages that come and go.
const NEWCOMER_INTERVAL: Duration = Duration::from_millis(500);

const TOOL: &str = "update_card_0";

/// The text that each call returns.
const RESULT: &str = "the card has moved";
const RESULT_JSON: &str = r#""the card has moved""#;

/// A client at 127.0.0.3 whose page is connected.
pub struct Victim {
    address: SocketAddr,
    _page: JoinSet<()>,
}

/// What the victim got from the bridge.
#[derive(Clone, Debug, Serialize)]
pub struct VictimFigures {
    /// The number of calls that were due.
    pub calls_due: usize,
    /// The number of calls that returned the page's result.
    pub calls: usize,
    /// The 99th percentile of all calls, in microseconds. A call that was not answered counts with
    /// the time that it waited.
    pub p99_us: f64,
    /// The slowest call, in microseconds.
    pub slowest_us: f64,
    /// The 99th percentile of requests to `/healthz`, in microseconds.
    pub health_p99_us: f64,
    /// The number of pages that tried to connect.
    pub newcomers: usize,
    /// The number of pages that could authenticate.
    pub newcomers_admitted: usize,
    /// Why the first request failed that did, of any of these kinds.
    pub failure: Option<String>,
}

/// Requests at a constant rate.
struct Paced {
    due: usize,
    succeeded: usize,
    latencies: Latencies,
    failure: Option<String>,
}

impl Victim {
    /// Connects the victim's page to the bridge at this address.
    pub async fn connect(address: SocketAddr) -> Self {
        let page = Page::open_from(SOURCE, address, VICTIM_TOKEN, "callee").await;
        let mut page = page.unwrap();
        page.register(&registration_message(DefinitionSets::Identical, 0, 10))
            .await;
        let mut task = JoinSet::new();
        task.spawn(page.serve(RESULT_JSON));
        Self {
            address,
            _page: task,
        }
    }

    /// Calls for this long, with `/healthz` and new pages beside the calls.
    pub async fn measure(&self, duration: Duration) -> VictimFigures {
        let end = Instant::now() + duration;
        let mut caller = Client::new(self.call_request());
        let mut health = Client::new(self.health_request());
        let address = self.address;
        let (calls, health, newcomers) = tokio::join!(
            Paced::run(CALL_INTERVAL, end, async |number| {
                if number % CALLS_PER_CONNECTION == 0 {
                    caller.connection = None;
                }
                caller.request(address, RESULT).await
            }),
            Paced::run(HEALTH_INTERVAL, end, async |_| {
                health.request(address, "").await
            }),
            Paced::run(NEWCOMER_INTERVAL, end, async |number| {
                let session = format!("newcomer-{number}");
                let page = Page::open_from(SOURCE, address, NEWCOMER_TOKEN, &session).await;
                page?.close().await;
                Ok(())
            }),
        );
        VictimFigures {
            calls_due: calls.due,
            calls: calls.succeeded,
            p99_us: calls.latencies.permille_us(990),
            slowest_us: calls.latencies.permille_us(1000),
            health_p99_us: health.latencies.permille_us(990),
            newcomers: newcomers.due,
            newcomers_admitted: newcomers.succeeded,
            failure: calls.failure.or(health.failure).or(newcomers.failure),
        }
    }

    /// Calls so many times, each time when the call before is answered.
    ///
    /// # Errors
    ///
    /// Returns an error if a call does not return the page's result.
    pub async fn call(&self, times: usize) -> Result<()> {
        let mut caller = Client::new(self.call_request());
        for _ in 0..times {
            caller.request(self.address, RESULT).await?;
        }
        Ok(())
    }

    fn call_request(&self) -> Vec<u8> {
        mcp_call(self.address, VICTIM_TOKEN, TOOL, r#"{"id":"7"}"#, "victim")
    }

    fn health_request(&self) -> Vec<u8> {
        format!("GET /healthz HTTP/1.1\r\nHost: {}\r\n\r\n", self.address).into_bytes()
    }
}

/// A client that sends the same request again and again, on a new connection if it has none.
struct Client {
    request: Vec<u8>,
    connection: Option<Connection>,
}

impl Client {
    fn new(request: Vec<u8>) -> Self {
        Self {
            request,
            connection: None,
        }
    }

    /// Sends the request. The answer must have the status 200 and contain `expected`.
    async fn request(&mut self, address: SocketAddr, expected: &str) -> Result<()> {
        // A connection whose request has failed is not used again.
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => Connection::open_from(SOURCE, address).await?,
        };
        let response = connection.request(&self.request).await?;
        let text = String::from_utf8_lossy(response.message);
        ensure!(response.status == 200, "{}: {text}", response.status);
        ensure!(text.contains(expected), "{text}");
        self.connection = Some(connection);
        Ok(())
    }
}

impl Paced {
    /// Sends requests until `end`. The time of a request that had to wait for the one before begins
    /// when it was due.
    async fn run(
        interval: Duration,
        end: Instant,
        mut request: impl AsyncFnMut(usize) -> Result<()>,
    ) -> Self {
        let begin = Instant::now();
        let (mut succeeded, mut latencies, mut failure) = (0, Vec::new(), None);
        let mut due = begin;
        for number in 0.. {
            if due >= end {
                break;
            }
            let started = if due > Instant::now() {
                sleep_until(due).await; // sleep: the rate of the requests
                Instant::now()
            } else {
                due
            };
            if started < end {
                match timeout_at(end, request(number)).await {
                    Ok(Ok(())) => succeeded += 1,
                    Ok(Err(error)) => failure = failure.or(Some(format!("{error:#}"))),
                    Err(_) => {}
                }
            }
            latencies.push(started.elapsed());
            due += interval;
        }
        Self {
            due: latencies.len(),
            succeeded,
            latencies: Latencies::new(latencies),
            failure,
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::sleep; // sleep: of paused time

    use super::*;

    #[test]
    fn the_tokens_are_listed_where_tokens_are_guessed() {
        let listed = format!("{VICTIM_TOKEN},{NEWCOMER_TOKEN}");
        assert_eq!(listed, crate::attacks::LISTED_TOKENS);
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_waits_for_a_slow_one_is_slow() {
        let end = Instant::now() + Duration::from_millis(100);
        let paced = Paced::run(Duration::from_millis(10), end, async |number| {
            let duration = if number == 2 { 35 } else { 1 };
            sleep(Duration::from_millis(duration)).await; // sleep: of paused time
            Ok(())
        })
        .await;
        assert_eq!((paced.due, paced.succeeded), (10, 10));
        // The third takes 35 ms; those after it are due 10 ms apart, and each takes 1 ms.
        let slow = paced.latencies.count_over(Duration::from_millis(2));
        assert_eq!(slow, 4);
    }

    #[tokio::test(start_paused = true)]
    async fn requests_that_are_not_answered_count_with_the_time_that_they_waited() {
        let end = Instant::now() + Duration::from_millis(100);
        let paced = Paced::run(Duration::from_millis(10), end, async |number| {
            if number == 5 {
                std::future::pending::<()>().await;
            }
            sleep(Duration::from_millis(1)).await; // sleep: of paused time
            ensure!(number != 4, "this one fails");
            Ok(())
        })
        .await;
        assert_eq!((paced.due, paced.succeeded), (10, 4));
        assert_eq!(paced.latencies.permille_us(1000).round(), 50_000.0);
    }
}
