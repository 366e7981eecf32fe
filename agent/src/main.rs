//! `mcp-web-agent`: the agent as a program.

use std::process::ExitCode;
use std::time::Duration;

/// The allocator of the bridge, for the same reason: see `bridge/src/main.rs`.
#[cfg(all(unix, feature = "jemalloc"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// How long blocking threads may continue after the agent has ended: a write to a file that hangs,
/// for example, cannot be cancelled.
const BLOCKING_TIMEOUT: Duration = Duration::from_secs(1);

fn main() -> ExitCode {
    if let Some(exit_code) = agent::run_hidden_command() {
        return exit_code;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            bridge_output::print_error(format_args!("no threads can be started: {error}"));
            return ExitCode::FAILURE;
        }
    };
    let exit_code = runtime.block_on(agent::run());
    runtime.shutdown_timeout(BLOCKING_TIMEOUT);
    exit_code
}
