//! The proxy as a program: reads the configuration, logs to stderr and serves the client on stdin and
//! stdout.

use std::ffi::OsString;
use std::process::ExitCode;

use bridge_output::{FlushGuard, LogFormat, open_log, print_error};
use tokio::io::{AsyncRead, AsyncWrite};
#[cfg(target_os = "linux")]
use tokio::net::unix::pipe::OpenOptions;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::prelude::*;

use crate::config::Config;
use crate::log_writer::LogWriter;
use crate::proxy;
use crate::token_redactor::TokenRedactor;

/// Runs the program of this name, such as `mcp-web-stdio`, with the arguments after the name.
pub fn main(name: &'static str, arguments: Vec<OsString>) -> ExitCode {
    match Config::from_command_line(name, arguments) {
        Ok(config) => serve_stdio(config),
        Err(error) => {
            print_error(error);
            ExitCode::from(2)
        }
    }
}

/// Serves the client at stdin and stdout of this process until it has ended.
pub fn serve_stdio(config: Config) -> ExitCode {
    let _flush_guard = log_to_stderr(config.log, config.token_redactor());
    let runtime = match tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            print_error(format_args!("cannot start: {error}"));
            return ExitCode::FAILURE;
        }
    };
    runtime.block_on(async {
        proxy::run(config, input(), output(), shutdown_signal()).await;
    });
    // If the output ended first, a thread may be blocked forever in a read of stdin.
    runtime.shutdown_background();
    ExitCode::SUCCESS
}

/// Opens standard input. On Linux a pipe is read without another thread. It is opened anew for
/// that, because the flag for non-blocking reads would affect other processes that share the file
/// description.
fn input() -> Box<dyn AsyncRead + Send + Unpin> {
    #[cfg(target_os = "linux")]
    if let Ok(pipe) = OpenOptions::new().open_receiver("/proc/self/fd/0") {
        return Box::new(pipe);
    }
    Box::new(tokio::io::stdin())
}

/// Opens standard output. On Linux a pipe is opened anew and written without another thread, like
/// the input.
fn output() -> Box<dyn AsyncWrite + Send + Unpin> {
    #[cfg(target_os = "linux")]
    if let Ok(pipe) = OpenOptions::new().open_sender("/proc/self/fd/1") {
        return Box::new(pipe);
    }
    Box::new(tokio::io::stdout())
}

/// Waits for a signal to terminate. Some clients send one together with the end of input. SIGHUP does not
/// end the process: with a terminal that is closed, the input ends as well.
#[cfg(unix)]
async fn shutdown_signal() {
    use tokio::signal::unix::{SignalKind, signal};

    let (Ok(mut terminate), Ok(mut interrupt)) = (
        signal(SignalKind::terminate()),
        signal(SignalKind::interrupt()),
    ) else {
        return std::future::pending().await;
    };
    // Without a receiver, the signal would end the process.
    let _ignored = signal(SignalKind::hangup());
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}

#[cfg(not(unix))]
async fn shutdown_signal() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending().await
    }
}

fn log_to_stderr(level: LevelFilter, redactor: TokenRedactor) -> FlushGuard {
    let (log, flush_guard) = open_log(LogFormat::Text);
    let filter = Targets::new().with_target("client_stdio", level);
    let layer = tracing_subscriber::fmt::layer()
        .with_writer(move || LogWriter::new(log.clone(), redactor.clone()))
        .with_ansi(false);
    tracing_subscriber::registry()
        .with(layer)
        .with(filter)
        .init();
    flush_guard
}
