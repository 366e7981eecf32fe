//! MCP clients of other projects, run against a page in Chromium, and the table of their features.
//!
//! A *library* has a driver: a program of `e2e/clients` that performs the [`ClientStep`]s and
//! prints the results. A *command line* (Codex, Gemini CLI, Claude Code) runs unchanged, with a
//! [`MockProvider`](crate::MockProvider) as its model. In both cases the results are checked here,
//! and become a [`ClientRow`] of the table. Further clients, which only `cargo xtask clients` runs, perform
//! the first four steps ([`ClientTier`]). Some also run at a bridge of several that does not serve the page, and while several
//! are replaced ([`RollingDeploy`]).

mod app;
mod command_line;
mod driver;
mod inspector_run;
mod restarted_bridge;
mod rolling_deploy;
mod row;

pub use app::ClientsApp;
pub use command_line::{CommandLine, CommandLineRun, ToolOutput};
pub use driver::{Driver, DriverTransport, Package};
pub use inspector_run::run_inspector;
pub use restarted_bridge::RestartedBridge;
pub use rolling_deploy::RollingDeploy;
pub use row::{ClientRow, ClientStep, ClientTier, StepResult};
