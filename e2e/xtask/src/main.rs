//! `cargo xtask`: the project's commands. Run it without arguments for the list.
#![allow(clippy::print_stderr, clippy::print_stdout)]

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use xtask::{
    Workspace, api, bench, clients, cross, demo, dependencies, faults, fuzz, lint, lowdefy,
    provider_types, release, sdk, test, version,
};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "The project's commands")]
struct Cli {
    #[command(subcommand)]
    command: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Build what the demo needs and start it; further arguments go to the demo
    Demo(demo::Options),
    /// Install what the tests need and run every test, but those of native windows
    Test(test::Options),
    /// Run third-party MCP clients and write what they did into docs/clients.md
    Clients(clients::Options),
    /// Check the requests of the agent with the types of the providers' SDKs
    ProviderTypes(provider_types::Options),
    /// Measure the cost of calls and pages and write it into docs/benchmarks.md
    Bench(bench::Options),
    /// Let several bridges fail in each way, often, and print what calls and pages saw
    Faults(faults::Options),
    /// Search for inputs that break the targets in e2e/fuzz, and add new ones to their corpora
    Fuzz(fuzz::Options),
    /// Check licences, sources and advisories of all dependencies, and find unused ones
    Dependencies(dependencies::Options),
    /// Build the web SDK into target/sdk, and the host of Lowdefy apps into target/lowdefy
    Sdk,
    /// Make the packages of a version in target/release-VERSION: npm, archives, wheel, deb, image, bundles
    Release(release::Options),
    /// Build the programs for Linux with musl, or check that they compile for Windows and macOS
    Cross(cross::Options),
    /// Write a version into all files that have it
    Version(version::Options),
    /// Write the API reference of the npm package into target/api-reference
    Api,
    /// Check formatting, the names in ARCHITECTURE.md and the English, run clippy, and check which file
    /// imports which and what the SDK reads
    Lint(lint::Options),
}

fn main() -> ExitCode {
    let workspace = Workspace::here();
    let result = match Cli::parse().command {
        Task::Demo(options) => demo::start(&workspace, &options),
        Task::Test(options) => return exit_code(test::run(&workspace, &options)),
        Task::Clients(options) => return exit_code(clients::run(&workspace, &options)),
        Task::ProviderTypes(options) => provider_types::check(&workspace, &options),
        Task::Bench(options) => bench::run(&workspace, &options),
        Task::Faults(options) => faults::run(&workspace, &options),
        Task::Fuzz(options) => fuzz::start(&workspace, &options),
        Task::Dependencies(options) => dependencies::check(&workspace, &options),
        Task::Sdk => {
            sdk::ensure_package(&workspace).and_then(|()| lowdefy::ensure(&workspace).map(drop))
        }
        Task::Release(options) => release::make(&workspace, &options).map(drop),
        Task::Cross(options) => cross::run(&workspace, &options),
        Task::Version(options) => version::set(&workspace, &options),
        Task::Api => api::generate(&workspace).map(|_| ()),
        Task::Lint(options) => lint::check_selected(&workspace, &options),
    };
    if let Err(error) = &result {
        eprintln!("error: {error:#}");
    }
    exit_code(result.is_ok())
}

fn exit_code(success: bool) -> ExitCode {
    if success {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
