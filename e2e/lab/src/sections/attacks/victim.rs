//! A client at another address than the attacker, with its own token and page.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use anyhow::{Result, ensure};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout_at}; // sleep: the rate of the calls

use crate::clients::STATELESS;
use crate::connection::Connection;
use crate::latency::Latencies;
use crate::page::{Page, PageAnswer, PageProtocol, registration};
use crate::request::{Endpoint, Request};
use crate::tools::{LoadTools, called_tool};

/// The address of the victim.
const SOURCE: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 3));

/// The time between two calls. It is long enough that no call waits for the previous one.
const CALL_INTERVAL: Duration = Duration::from_millis(10);

/// The number of calls on a connection, after which the next call opens a new one.
const CALLS_PER_CONNECTION: usize = 10;

/// The text that each call returns.
const RESULT: &str = "the card has moved";

/// A client at 127.0.0.3 whose page is connected.
pub(super) struct Victim {
    endpoint: Endpoint,
    _page: JoinSet<()>,
}

/// The calls of the victim in a measurement.
#[derive(Clone, Copy, Debug)]
pub(super) struct VictimFigures {
    /// The number of calls that were due.
    pub(super) due: usize,
    /// The number of calls that returned the page's result.
    pub(super) answered: usize,
    /// The 99th percentile of all calls. A call that was not answered counts with the time that it
    /// waited.
    pub(super) p99: Duration,
    pub(super) slowest: Duration,
}

impl Victim {
    /// Connects the victim's page to the bridge at this address.
    pub(super) async fn connect(address: SocketAddr) -> Result<Self> {
        let token = "the-token-of-the-victim-0123456789abcdef";
        let mut page = Page::authenticated(SOURCE, address, token, "callee").await?;
        page.register(&registration(&LoadTools::WITHOUT_SCHEMAS.definitions(0)))
            .await?;
        let answer = PageAnswer::new(PageProtocol::Current, &format!("\"{RESULT}\""));
        let mut task = JoinSet::new();
        task.spawn(async move { page.serve(&answer).await });
        Ok(Self {
            endpoint: Endpoint {
                source: SOURCE,
                ..Endpoint::new(address, token)
            },
            _page: task,
        })
    }

    /// Calls for this long.
    pub(super) async fn measure(&self, duration: Duration) -> VictimFigures {
        let request = STATELESS.call(&self.endpoint, None, &called_tool(0));
        let mut reused = None;
        call_at_a_rate(Instant::now() + duration, async |number| {
            // A connection whose request has failed is not used again.
            let mut connection = match reused.take() {
                Some(connection) if number % CALLS_PER_CONNECTION > 0 => connection,
                _ => Connection::open(&self.endpoint).await?,
            };
            call(&mut connection, &request).await?;
            reused = Some(connection);
            Ok(())
        })
        .await
    }

    /// Makes one call on a new connection.
    #[cfg(test)]
    pub(super) async fn call(&self) -> Result<()> {
        let request = STATELESS.call(&self.endpoint, None, &called_tool(0));
        call(&mut Connection::open(&self.endpoint).await?, &request).await
    }
}

async fn call(connection: &mut Connection, request: &Request) -> Result<()> {
    let answer = connection.request(request).await?;
    answer.require_status(200)?;
    let text = String::from_utf8_lossy(&answer.message);
    ensure!(text.contains(RESULT), "{text}");
    Ok(())
}

/// Makes a call in each interval until `end`. The time of a call that had to wait for the one before
/// begins when it was due: a bridge that stands still for a second has a hundred slow calls, not one.
async fn call_at_a_rate(
    end: Instant,
    mut call: impl AsyncFnMut(usize) -> Result<()>,
) -> VictimFigures {
    let (mut answered, mut latencies) = (0, Vec::new());
    let mut due = Instant::now();
    while due < end {
        sleep_until(due).await; // sleep: the rate of the calls
        if Instant::now() < end {
            let called = timeout_at(end, call(latencies.len())).await;
            answered += usize::from(matches!(called, Ok(Ok(()))));
        }
        latencies.push(due.elapsed());
        due += CALL_INTERVAL;
    }
    let latencies = Latencies::new(latencies);
    VictimFigures {
        due: latencies.len(),
        answered,
        p99: latencies.percentile(99),
        slowest: latencies.slowest(),
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::sleep; // sleep: of paused time

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_call_that_waits_for_a_slow_one_is_slow() {
        let end = Instant::now() + Duration::from_millis(100);
        let figures = call_at_a_rate(end, async |number| {
            let duration = if number == 2 { 35 } else { 1 };
            sleep(Duration::from_millis(duration)).await; // sleep: of paused time
            Ok(())
        })
        .await;
        assert_eq!((figures.due, figures.answered), (10, 10));
        // The third takes 35 ms, so that the one after it, which is due 10 ms later, takes 26 ms.
        assert_eq!(figures.slowest.as_millis(), 35);
        assert_eq!(figures.p99.as_millis(), 26);
    }

    #[tokio::test(start_paused = true)]
    async fn calls_that_are_not_answered_count_with_the_time_that_they_waited() {
        let end = Instant::now() + Duration::from_millis(100);
        let figures = call_at_a_rate(end, async |number| {
            if number == 5 {
                std::future::pending::<()>().await;
            }
            ensure!(number != 4, "this one fails");
            Ok(())
        })
        .await;
        assert_eq!((figures.due, figures.answered), (10, 4));
        assert_eq!(figures.slowest.as_millis(), 50);
    }
}
