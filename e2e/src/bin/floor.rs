//! `floor`: the least that has to happen between a request and a page, to measure a bridge against.

use std::net::SocketAddr;

use clap::Parser;
use e2e::load::floor::{Floor, FloorProtocol};
use tokio::net::TcpListener;

/// Passes the bodies of requests to pages, and their answers back.
#[derive(Parser)]
struct Arguments {
    /// Address to listen on
    #[arg(long, default_value = "127.0.0.1:0")]
    bind: SocketAddr,

    /// Answer what the bridge would answer, byte for byte
    #[arg(long)]
    mcp: bool,

    /// What is read at a time from the socket of a page, in bytes
    #[arg(long, default_value_t = 4096)]
    read_buffer: usize,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let Arguments {
        bind,
        mcp,
        read_buffer,
    } = Arguments::parse();
    let listener = TcpListener::bind(bind).await?;
    println!("listening on http://{}", listener.local_addr()?);
    let meaning = if mcp {
        FloorProtocol::Mcp
    } else {
        FloorProtocol::Bytes
    };
    Floor::new(meaning, read_buffer).serve(listener).await;
    Ok(())
}
