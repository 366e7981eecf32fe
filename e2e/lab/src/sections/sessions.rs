//! MCP sessions: the memory of each, and the processor time of a whole life.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use e2e::Meter;

use crate::caller::{Conversation, page_session};
use crate::clients::{Client, Era, REAL_CLIENTS, STATELESS, WITHOUT_CAPABILITIES};
use crate::connection::Connection;
use crate::load::TOKEN;
use crate::page::{Page, PageAnswer, PageProtocol};
use crate::request::{CALL_IDS, Endpoint};
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

/// The number of lives before those that are measured.
const WARM_UP: usize = 100;

/// The cost of sessions, and of a life.
struct Cost {
    /// Resident memory of all sessions; a client of 2026-07-28 without a stream leaves nothing open.
    memory: Option<u64>,
    life: Duration,
}

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
        let bare = measure_client(client, count, false)
            .await
            .context(client.name)?;
        let streaming = measure_client(client, count, true)
            .await
            .context(client.name)?;
        let memory = |cost: &Cost| {
            cost.memory
                .map_or("–".to_owned(), |all| kib_each(all, count))
        };
        let [bare_memory, streaming_memory] = [&bare, &streaming].map(memory);
        let [bare_life, streaming_life] = [bare, streaming].map(|cost| time(cost.life));
        let cells = [
            client.name.to_owned(),
            bare_memory,
            streaming_memory,
            bare_life,
            streaming_life,
        ];
        table.row(&cells);
    }
    let conditions = format!(
        "Server and clients share one core. {} sessions of each client are open at the same time, \
         and as many live one after the other: they open, list ten tools, call one and close.",
        thousands(count as u64)
    );
    Ok(table.section(&conditions))
}

async fn measure_client(client: &Client, count: usize, with_stream: bool) -> Result<Cost> {
    let server = Server::bridge(&SETTINGS).await?;
    let tools = LoadTools::WITH_SCHEMAS.definitions(0);
    let current = PageProtocol::Current;
    let page = Page::open(server.address, current, TOKEN, &page_session(0), &tools).await?;
    let answer = Arc::new(PageAnswer::new(current, r#"{"rows":[]}"#));
    let _page = tokio::spawn(async move { page.serve(&answer).await });
    let endpoint = Endpoint::new(server.address, TOKEN);
    let mut user = User {
        client,
        connection: Connection::open(&endpoint).await?,
        endpoint,
        with_stream,
    };
    for _ in 0..WARM_UP {
        user.live().await?;
    }
    let meter = server.meter();
    let leaves_something = client.era == Era::Session || with_stream;
    let memory = if leaves_something {
        Some(user.memory(meter, count).await?)
    } else {
        None
    };
    let before = meter.cpu()?;
    for _ in 0..count {
        user.live().await?;
    }
    let life = each(meter.cpu()?.since(&before), count);
    Ok(Cost { memory, life })
}

/// Somebody who uses a client, over one connection and a stream for each conversation.
struct User<'a> {
    client: &'a Client,
    connection: Connection,
    endpoint: Endpoint,
    with_stream: bool,
}

impl User<'_> {
    /// Opens a conversation, lists the tools, calls one, and closes the conversation.
    async fn live(&mut self) -> Result<()> {
        let conversation = self.begin().await?;
        self.end(conversation).await
    }

    async fn begin(&mut self) -> Result<Conversation> {
        let Self {
            client, endpoint, ..
        } = self;
        let opening = Conversation::open(client, &mut self.connection, endpoint, self.with_stream);
        let conversation = opening.await?;
        let session = conversation.session.as_deref();
        let list = client.list_tools(endpoint, session);
        let mut call = client.call(endpoint, session, &called_tool(0));
        for request in [&list, call.with_id(CALL_IDS.start + 1)] {
            let answer = self.connection.request(request).await?;
            answer.require_status(200)?;
            let text = String::from_utf8_lossy(&answer.message);
            let is_right = text.contains(&called_tool(0)) || text.contains(r#""rows":[]"#);
            anyhow::ensure!(is_right, "{text}");
        }
        Ok(conversation)
    }

    async fn end(&mut self, conversation: Conversation) -> Result<()> {
        if let Some(session) = &conversation.session {
            let request = self.client.end_session(&self.endpoint, session);
            let answer = self.connection.request(&request).await?;
            anyhow::ensure!(
                matches!(answer.status, 200 | 204),
                "`DELETE`: {}",
                answer.status
            );
        }
        Ok(())
    }

    /// Returns the memory of this many conversations that are open at the same time.
    async fn memory(&mut self, meter: Meter, count: usize) -> Result<u64> {
        let before = meter.exact_memory()?;
        let mut open = Vec::new();
        for _ in 0..count {
            open.push(self.begin().await?);
        }
        let used = meter.exact_memory()?.saturating_sub(before);
        for conversation in open {
            self.end(conversation).await?;
        }
        Ok(used)
    }
}
