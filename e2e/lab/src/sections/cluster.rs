//! Several bridges as one: what a bridge adds to a call and to a page that belong to another one, and how
//! long pages are away when their bridge ends.

mod idle_tunnels;
mod node_end;

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Result;
use e2e::LargeResult;

use crate::caller::Route;
use crate::load::{Figures, Load, SETTINGS, Setup, TOKEN, Target};
use crate::nodes::Nodes;
use crate::proxy::ProxyKind;
use crate::server::Server;
use crate::table::{Table, ratio, time};
use crate::tools::{LoadTools, payload};

const PAGES: usize = 4;

const SIZES: [(&str, usize); 2] = [("1 kB", 1_000), ("1 MB", 1_000_000)];

/// How long results of 1 MB are measured at least.
const LARGE_DURATION: Duration = Duration::from_secs(2);

/// How callers or pages reach the bridge that serves them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Direct,
    Proxy(ProxyKind),
    /// By the other bridge.
    Edge,
}

/// The bridges that run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bridges {
    /// One without `cluster`.
    One,
    /// Two without encryption between them.
    Two,
    /// Two with mutual TLS between them.
    TwoEncrypted,
}

/// A row of the table.
struct Row {
    name: &'static str,
    bridges: Bridges,
    callers: Access,
    pages: Access,
    /// The row with the proxies that this one is compared with.
    proxies: usize,
}

/// The row that shows what a call costs alone.
const ALONE: usize = 0;
const HTTP_PROXY: usize = 2;
const TCP_PROXY: usize = 6;
const BOTH_PROXIES: usize = 9;

fn rows() -> Vec<Row> {
    use Access::{Direct, Edge, Proxy};
    use Bridges::{One, Two, TwoEncrypted};
    use ProxyKind::{Http, Tcp};
    let row = |name, bridges, callers, pages, proxies| Row {
        name,
        bridges,
        callers,
        pages,
        proxies,
    };
    vec![
        row("one bridge", One, Direct, Direct, ALONE),
        row("all at the owner", Two, Direct, Direct, ALONE),
        row(
            "caller at an HTTP proxy",
            One,
            Proxy(Http),
            Direct,
            HTTP_PROXY,
        ),
        row("caller at a TCP proxy", One, Proxy(Tcp), Direct, HTTP_PROXY),
        row("caller at the edge", Two, Edge, Direct, HTTP_PROXY),
        row(
            "caller at the edge, TLS",
            TwoEncrypted,
            Edge,
            Direct,
            HTTP_PROXY,
        ),
        row("page at a TCP proxy", One, Direct, Proxy(Tcp), TCP_PROXY),
        row("page at the edge", Two, Direct, Edge, TCP_PROXY),
        row(
            "page at the edge, TLS",
            TwoEncrypted,
            Direct,
            Edge,
            TCP_PROXY,
        ),
        row(
            "both at proxies",
            One,
            Proxy(Http),
            Proxy(Tcp),
            BOTH_PROXIES,
        ),
        row("both at the edge", Two, Edge, Edge, BOTH_PROXIES),
        row(
            "both at the edge, TLS",
            TwoEncrypted,
            Edge,
            Edge,
            BOTH_PROXIES,
        ),
    ]
}

/// Measures calls, then idle pages, and then the end of a bridge.
pub(crate) async fn measure(quick: bool) -> Result<String> {
    let calls = measure_calls(quick).await?;
    let idle = idle_tunnels::measure(quick).await?;
    let end = node_end::measure(quick).await?;
    Ok(format!("{calls}\n\n{idle}\n\n{end}"))
}

async fn measure_calls(quick: bool) -> Result<String> {
    let (rounds, seconds) = if quick { (1, 0.4) } else { (5, 1.2) };
    let rows = rows();
    let mut figures: Vec<_> = rows.iter().map(|_| SIZES.map(|_| Vec::new())).collect();
    for round in 1..=rounds {
        eprintln!("  round {round} of {rounds}");
        for (row, figures) in rows.iter().zip(&mut figures) {
            for ((_, bytes), figures) in SIZES.into_iter().zip(figures) {
                let duration = Duration::from_secs_f64(seconds);
                let load = Load {
                    target: row.target(),
                    payload: payload(LargeResult::Rows, bytes),
                    pages: PAGES,
                    callers: 1,
                    duration: if bytes < 1_000_000 || quick {
                        duration
                    } else {
                        duration.max(LARGE_DURATION)
                    },
                };
                figures.push(row.measure(&load).await?);
            }
        }
    }
    let medians = figures.into_iter().map(|row| row.map(Figures::median));
    let medians: Vec<_> = medians.collect();
    let conditions = format!(
        "All processes share one core; one caller of `POST /tool-call`, {PAGES} pages; {seconds} s each \
         time (2 s with 1 MB), the median of {rounds}. CPU is that of the bridge that serves the page, and \
         of the process between; \"added\" is the difference of the p50 to one bridge. `×` compares with \
         the proxies."
    );
    Ok(table(&rows, &medians).section(&conditions))
}

impl Row {
    fn target(&self) -> Target {
        Target {
            name: self.name,
            route: Route::ToolCall,
            tools: LoadTools::WITHOUT_SCHEMAS,
        }
    }

    async fn measure(&self, load: &Load) -> Result<Figures> {
        match self.bridges {
            Bridges::One => {
                let server = Server::bridge(&SETTINGS).await?;
                let callers = Proxied::start(self.callers, &server).await?;
                let pages = Proxied::start(self.pages, &server).await?;
                let passing = [&callers, &pages].into_iter().flat_map(|it| &it.proxy);
                let setup = Setup {
                    callers: callers.address,
                    pages: pages.address,
                    server: server.meter(),
                    passing: passing.map(Server::meter).collect(),
                };
                load.measure_at(&setup).await
            }
            Bridges::Two | Bridges::TwoEncrypted => {
                let is_encrypted = self.bridges == Bridges::TwoEncrypted;
                let nodes = Nodes::start(2, &SETTINGS, is_encrypted).await?;
                let _owning = nodes.open_owning_page(TOKEN).await?;
                let address = |access| match access {
                    Access::Edge => nodes.edge().address,
                    _ => nodes.owner().address,
                };
                let setup = Setup {
                    callers: address(self.callers),
                    pages: address(self.pages),
                    server: nodes.owner().meter(),
                    passing: vec![nodes.edge().meter()],
                };
                load.measure_at(&setup).await
            }
        }
    }
}

/// Where a bridge is reached, and the proxy before it if it has one.
struct Proxied {
    address: SocketAddr,
    proxy: Option<Server>,
}

impl Proxied {
    async fn start(access: Access, server: &Server) -> Result<Self> {
        let proxy = match access {
            Access::Proxy(kind) => Some(Server::proxy(kind, server.address).await?),
            Access::Direct | Access::Edge => None,
        };
        Ok(Self {
            address: proxy.as_ref().unwrap_or(server).address,
            proxy,
        })
    }
}

fn table(rows: &[Row], figures: &[[Figures; 2]]) -> Table {
    let columns = SIZES.map(|(size, _)| {
        let columns = ["CPU of the bridge", "CPU between", "p50", "added"];
        columns.map(|column| format!("{size}: {column}"))
    });
    let columns = columns.as_flattened().iter().map(String::as_str);
    let mut table = Table::new(&[vec!["connections"], columns.collect()].concat());
    for (row, measured) in rows.iter().zip(figures) {
        let mut cells = vec![row.name.to_owned()];
        for (size, value) in measured.iter().enumerate() {
            let proxies = &figures[row.proxies][size];
            let added = |it: &Figures| it.p50.saturating_sub(figures[ALONE][size].p50);
            let [passing_cpu, added] = match row.proxies {
                ALONE => ["–", "–"].map(str::to_owned),
                _ => [
                    compare(value.passing_cpu, proxies.passing_cpu),
                    compare(added(value), added(proxies)),
                ],
            };
            cells.extend([time(value.cpu), passing_cpu, time(value.p50), added]);
        }
        table.row(&cells);
    }
    table
}

/// Formats a time as a multiple of another one, which is zero if it is too short for this machine.
fn compare(value: Duration, base: Duration) -> String {
    if base.is_zero() {
        return time(value);
    }
    ratio(value, base)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_compared_with_their_proxies() {
        let rows = rows();
        for (index, row) in rows.iter().enumerate() {
            let proxies = &rows[row.proxies];
            assert!(proxies.bridges == Bridges::One, "{}", row.name);
            assert_eq!(proxies.proxies, row.proxies, "{}", row.name);
            let is_passed_on = |access| access != Access::Direct;
            assert_eq!(
                [row.callers, row.pages].map(is_passed_on),
                [proxies.callers, proxies.pages].map(is_passed_on),
                "{index}"
            );
        }
    }

    #[test]
    fn what_lies_between_is_compared_and_the_bridge_alone_is_not() {
        let figures = |passing, p50| Figures {
            cpu: Duration::from_micros(20),
            passing_cpu: Duration::from_micros(passing),
            p50: Duration::from_micros(p50),
            ..Figures::default()
        };
        let rows = rows();
        let mut measured = vec![[figures(0, 40), figures(0, 900)]; rows.len()];
        measured[HTTP_PROXY] = [figures(10, 60), figures(400, 900)];
        measured[HTTP_PROXY + 2] = [figures(12, 90), figures(600, 950)];
        let text = table(&rows, &measured).section("");
        for row in [
            "| one bridge | 20.0 µs | – | 40.0 µs | – | 20.0 µs | – | 900 µs | – |",
            "| caller at the edge | 20.0 µs | 1.20× (12.0 µs) | 90.0 µs | 2.50× (50.0 µs) | 20.0 µs \
             | 1.50× (600 µs) | 950 µs | 50.0 µs |",
        ] {
            assert!(text.contains(row), "{text}");
        }
    }

    #[tokio::test]
    async fn every_row_with_two_bridges_has_figures() {
        // This program cannot start itself as a proxy.
        let rows = rows().into_iter();
        for row in rows.filter(|row| row.bridges != Bridges::One) {
            let load = Load {
                target: row.target(),
                payload: payload(LargeResult::Rows, 1_000),
                pages: 1,
                callers: 1,
                duration: Duration::from_millis(100),
            };
            let figures = row.measure(&load).await.unwrap();
            assert!(figures.p50 > Duration::ZERO, "{}", row.name);
            let is_passed_on = row.proxies != ALONE;
            assert!(
                !is_passed_on || figures.passing_cpu > Duration::ZERO,
                "{}",
                row.name
            );
        }
    }
}
