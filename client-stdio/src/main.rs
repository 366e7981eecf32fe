//! The binary: configuration, logging to stderr, and the pump over stdin and stdout.

use std::process::ExitCode;

use client_stdio::Config;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::prelude::*;

fn main() -> ExitCode {
    let config = match Config::from_command_line(std::env::args_os()) {
        Ok(config) => config,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(2);
        }
    };
    log_to_stderr(config.log);
    let runtime = match tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("error: cannot start: {error}");
            return ExitCode::FAILURE;
        }
    };
    runtime.block_on(async {
        let (input, output) = rmcp::transport::stdio_pipes();
        client_stdio::run(config, input, output, signalled()).await;
    });
    // A read of stdin may be blocked for ever when it was the output that ended.
    runtime.shutdown_background();
    ExitCode::SUCCESS
}

/// The polite signals, which some clients send along with the end of input.
#[cfg(unix)]
async fn signalled() {
    use tokio::signal::unix::{SignalKind, signal};

    let (Ok(mut terminate), Ok(mut interrupt)) = (
        signal(SignalKind::terminate()),
        signal(SignalKind::interrupt()),
    ) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}

#[cfg(not(unix))]
async fn signalled() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending().await
    }
}

/// rmcp logs whole messages at info and expected losses of the bridge as errors: only on request.
/// A line that its stdio transport cannot read is always worth knowing.
fn log_to_stderr(level: LevelFilter) {
    let rmcp = if level >= LevelFilter::DEBUG {
        level
    } else {
        LevelFilter::OFF
    };
    let filter = Targets::new()
        .with_target("client_stdio", level)
        .with_target("rmcp", rmcp)
        .with_target("rmcp::transport::async_rw", level);
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(false);
    tracing_subscriber::registry()
        .with(lines)
        .with(filter)
        .init();
}
