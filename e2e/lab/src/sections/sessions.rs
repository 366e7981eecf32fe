//! MCP sessions: the memory of each, and the processor time of a whole life.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tokio::task::JoinSet;

use crate::caller::{Conversation, page_session};
use crate::clients::{Client, Era, REAL_CLIENTS, STATELESS, WITHOUT_CAPABILITIES};
use crate::connection::Connection;
use crate::load::TOKEN;
use crate::page::{Page, PageAnswer, PageProtocol};
use crate::request::Endpoint;
use crate::server::{Server, raise_open_file_limit};
use crate::table::{Table, each, kib_each, thousands, time};
use crate::tools::{LoadTools, called_tool};

/// The settings of the bridge: no session makes room for another one.
const SETTINGS: [&str; 5] = [
    "--log=warn",
    "--max-mcp-sessions=100000",
    "--max-clients=100000",
    "--max-connections=100000",
    "--max-memory-bytes=17179869184",
];

/// As many sessions as one token has open at the same time, within the default limit of 64: a page
/// gets the list of its clients, which would have thousands of entries otherwise.
const SESSIONS_OF_A_TOKEN: usize = 50;

/// The number of lives before those that are measured.
const WARM_UP: usize = 100;

/// The result of each call.
const RESULT: &str = r#"{"rows":[]}"#;

/// Measures the sessions of each client.
pub(crate) async fn measure(quick: bool) -> Result<String> {
    let count = if quick { 400 } else { 4_000 };
    raise_open_file_limit(2 * count)?;
    let mut table = Table::new(&[
        "client",
        "memory of a session",
        "with its stream",
        "CPU of a life",
        "with its stream",
    ]);
    let plain = [&WITHOUT_CAPABILITIES, &STATELESS].into_iter();
    for client in plain.chain(REAL_CLIENTS) {
        eprintln!("  {}", client.name);
        let (mut cells, mut lives) = (vec![client.name.to_owned()], Vec::new());
        for with_stream in [false, true] {
            let measured = measure_client(client, count, with_stream).await;
            let (memory, life) = measured.context(client.name)?;
            cells.push(memory.map_or("–".to_owned(), |all| kib_each(all, count)));
            lives.push(time(life));
        }
        cells.extend(lives);
        table.row(&cells);
    }
    let conditions = format!(
        "Server and clients share one core. {} sessions of each client are open at the same time, \
         {SESSIONS_OF_A_TOKEN} of each token, and as many live one after the other: they open, list \
         ten tools, call one and close.",
        thousands(count as u64)
    );
    Ok(table.section(&conditions))
}

/// Returns the memory of all sessions, and the processor time of a life. A client of 2026-07-28
/// without a stream leaves nothing open.
async fn measure_client(
    client: &Client,
    count: usize,
    with_stream: bool,
) -> Result<(Option<u64>, Duration)> {
    let server = Server::bridge(&SETTINGS).await?;
    let tokens = 0..count.div_ceil(SESSIONS_OF_A_TOKEN);
    let endpoint = |token| Endpoint::new(server.address, &format!("{TOKEN}-{token}"));
    let endpoints: Vec<_> = tokens.map(endpoint).collect();
    let _pages = open_pages(&endpoints).await?;
    let mut connection = Connection::open(&endpoints[0]).await?;
    let mut endpoints = endpoints.iter().cycle();
    let mut next = || endpoints.next().expect("there is a token").clone();
    for _ in 0..WARM_UP {
        let begun = begin(client, &mut connection, next(), with_stream).await?;
        begun.end(client, &mut connection).await?;
    }
    let meter = server.meter();
    let mut memory = None;
    if client.era == Era::Session || with_stream {
        let before = meter.exact_memory()?;
        let mut open = Vec::new();
        for _ in 0..count {
            open.push(begin(client, &mut connection, next(), with_stream).await?);
        }
        memory = Some(meter.exact_memory()?.saturating_sub(before));
        for conversation in open {
            conversation.end(client, &mut connection).await?;
        }
    }
    let before = meter.cpu()?;
    for _ in 0..count {
        let begun = begin(client, &mut connection, next(), with_stream).await?;
        begun.end(client, &mut connection).await?;
    }
    Ok((memory, each(meter.cpu()?.since(&before), count)))
}

/// Opens a page for each token. The pages answer until the result is dropped.
async fn open_pages(endpoints: &[Endpoint]) -> Result<JoinSet<()>> {
    let current = PageProtocol::Current;
    let tools = LoadTools::WITH_SCHEMAS.definitions(0);
    let answer = Arc::new(PageAnswer::new(current, RESULT));
    let mut pages = JoinSet::new();
    for Endpoint { address, token, .. } in endpoints {
        let page = Page::open(*address, current, token, &page_session(0), &tools).await?;
        let answer = Arc::clone(&answer);
        pages.spawn(async move { page.serve(&answer).await });
    }
    Ok(pages)
}

/// Opens a conversation, lists the tools and calls one.
async fn begin(
    client: &Client,
    connection: &mut Connection,
    endpoint: Endpoint,
    with_stream: bool,
) -> Result<Conversation> {
    let conversation = Conversation::open(client, connection, &endpoint, with_stream).await?;
    let session = conversation.session.as_deref();
    let list = client.list_tools(&endpoint, session);
    let call = client.call(&endpoint, session, &called_tool(0));
    for (request, expected) in [(list, called_tool(0).as_str()), (call, RESULT)] {
        let answer = connection.request(&request).await?;
        answer.require_status(200)?;
        let text = String::from_utf8_lossy(&answer.message);
        ensure!(text.contains(expected), "{text}");
    }
    Ok(conversation)
}
