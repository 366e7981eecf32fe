//! MCP clients that nobody here wrote, driven against a page in Chromium, and the table of what each
//! of them does.
//!
//! A *library* has a driver: a program of `e2e/clients` that walks through the [`ClientStep`]s and prints
//! what it saw. A *command line* (Codex, Gemini CLI, Claude Code) is run as it is, with a model that a
//! [`Provider`](crate::Provider) plays. Either way the steps are judged here, and come to a [`ClientRow`].

mod app;
mod command_line;
mod driver;
mod row;

pub use app::ClientsApp;
pub use command_line::{CommandLine, CommandLineRun, ToolOutput};
pub use driver::{Driver, DriverTransport, Package};
pub use row::{ClientRow, ClientStep, StepResult};
