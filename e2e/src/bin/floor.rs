//! The `floor` program: a server that does the least possible between a request and a page.
#![allow(clippy::print_stderr, clippy::print_stdout)]

use std::net::SocketAddr;

use clap::Parser;
use e2e::load::floor::{Floor, FloorProtocol};
use tokio::net::TcpListener;

/// Forwards the bodies of requests to pages, and their answers back.
#[derive(Parser)]
struct Arguments {
    /// Address to listen on
    #[arg(long, default_value = "127.0.0.1:0")]
    bind: SocketAddr,

    /// Answer what the bridge would answer, byte for byte
    #[arg(long)]
    mcp: bool,

    /// The size of the read buffer for the socket of a page, in bytes
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
    let protocol = if mcp {
        FloorProtocol::Mcp
    } else {
        FloorProtocol::Bytes
    };
    Floor::new(protocol, read_buffer).serve(listener).await;
    Ok(())
}
