//! Installs what the tests need, and passes its paths to them.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::json;

use super::options::{Options, Suite};
use crate::chromium::Chromium;
use crate::client_table::Table;
use crate::nats_server::NatsServers;
use crate::postgres::Postgres;
use crate::process::try_capture;
use crate::toolchain::{self, TargetRustc, WASM_TARGET};
use crate::{
    Workspace, api, apt, local_model, lowdefy, node, page_tools_pages, promtool, provider_types,
    proxies, python,
};

/// The folders of `e2e/bundlers` with packages. Vite 8 is one of the packages of the journeys.
const BUNDLER_PACKAGES: [&str; 5] = ["next", "tools", "vite6", "vite7", "webpack"];

/// Debian's packages for building and showing a window of Slint: the libraries of the X client, which
/// are loaded when it runs, and a font.
const WINDOW_PACKAGES: [&str; 9] = [
    "fonts-dejavu-core",
    "libfontconfig-dev",
    "libx11-6",
    "libx11-xcb1",
    "libxcursor1",
    "libxi6",
    "libxkbcommon-x11-0",
    "pkg-config",
    "xvfb",
];

/// The folders of `e2e/agui` with packages: one for each client of AG-UI, because each brings its own
/// version of the protocol.
const AGUI_PACKAGES: [&str; 3] = ["http-agent", "copilotkit", "assistant-ui"];

/// The lists of Python packages of the further clients.
const FURTHER_PYTHON: [&str; 3] = ["1", "2", "fast-agent"];

/// The tools that tests need besides Rust. Environment variables pass its paths to them.
pub(crate) struct Tools {
    pub(super) wasm_rustc: TargetRustc,
    /// The file with the WebDriver capabilities for the SDK's tests.
    webdriver: PathBuf,
    chromium: Option<Chromium>,
    postgres: Option<Postgres>,
    nats: Option<NatsServers>,
    /// The program that checks rules of Prometheus.
    promtool: Option<PathBuf>,
    /// The folder of JSON-Schema-Test-Suite.
    schema_suite: Option<PathBuf>,
    node: Option<Node>,
    pub(crate) clients: Option<ClientPackages>,
    /// The virtual environment with the server of llama.cpp.
    llama_cpp: Option<PathBuf>,
}

/// The packages of the third-party MCP clients, and the folder for their results.
pub(crate) struct ClientPackages {
    /// The `node_modules` folder.
    pub(crate) node: PathBuf,
    /// The virtual environments of the clients on the MCP SDK 1 and on the MCP SDK 2.
    pub(crate) python: [PathBuf; 2],
    /// The folder that a row is written to for each client.
    pub(crate) rows: PathBuf,
}

/// Node, and the packages of the journeys.
struct Node {
    program: PathBuf,
    packages: PathBuf,
}

impl Tools {
    /// Installs what the selected suites need, where it is missing.
    pub(super) fn ensure(workspace: &Workspace, options: &Options) -> Result<Self> {
        let wasm_rustc = toolchain::ensure(WASM_TARGET)?;
        apt::ensure_program("make")?;
        node::install_pinned(workspace, "web-sdk", "web-sdk-node")?;
        if options.includes(Suite::NativeWindow) {
            apt::ensure_packages("the packages of native windows", &WINDOW_PACKAGES)?;
        }
        let needs_further = options.includes(Suite::FurtherClients);
        let needs_clients = options.includes(Suite::Clients) || needs_further;
        let needs_bundlers = options.includes(Suite::Bundlers);
        let needs_journeys = options.includes(Suite::Journeys) || needs_clients || needs_bundlers;
        if options.includes(Suite::Rust) {
            api::ensure_packages(workspace)?;
            provider_types::ensure_packages(workspace)?;
        }
        let chromium = (needs_journeys || options.includes(Suite::Wasm))
            .then(Chromium::ensure)
            .transpose()?;
        let postgres = options
            .includes(Suite::Rust)
            .then(Postgres::ensure)
            .transpose()?;
        let nats = (needs_journeys || options.includes(Suite::Rust))
            .then(|| NatsServers::ensure(workspace))
            .transpose()?;
        let promtool = options
            .includes(Suite::Rust)
            .then(|| promtool::ensure(workspace))
            .transpose()?;
        let schema_suite = options
            .includes(Suite::Rust)
            .then(|| {
                let requirements = "bridge/schema/tests/texts/requirements.txt";
                let package = python::ensure_source(workspace, requirements, "json-schema-suite")?;
                anyhow::Ok(package.join("json"))
            })
            .transpose()?;
        if needs_journeys {
            // A journey runs the README's commands, and it is one of them.
            apt::ensure_program("curl")?;
        }
        let webdriver = workspace.tools().join("webdriver.json");
        if let Some(chromium) = &chromium {
            write_webdriver(&webdriver, &chromium.browser)?;
        }
        let node = (needs_journeys || options.includes(Suite::Rust))
            .then(|| Node::ensure(workspace))
            .transpose()?;
        let clients = needs_clients
            .then(|| ClientPackages::ensure(workspace))
            .transpose()?;
        if needs_further {
            ensure_further_clients(workspace)?;
        }
        if options.includes(Suite::Journeys) {
            for name in AGUI_PACKAGES {
                let folder = format!("e2e/agui/{name}");
                node::install_pinned(workspace, &folder, &format!("agui-{name}"))?;
            }
            page_tools_pages::ensure(workspace)?;
            lowdefy::ensure(workspace)?;
            node::install_pinned(workspace, "e2e/lowdefy", "lowdefy")?;
            node::install_pinned(workspace, "web-sdk/lowdefy", "lowdefy-host")?;
            // One of the stores for its sessions.
            apt::ensure_program("redis-server")?;
            // A tab is hidden only in a browser with a window.
            apt::ensure_program_of("xvfb", "Xvfb")?;
            node::install_pinned(workspace, "e2e/mcp-servers", "mcp-servers-node")?;
            let requirements = "e2e/mcp-servers/requirements.txt";
            let servers =
                python::ensure_environment(workspace, requirements, "mcp-servers-python")?;
            python::ensure_uvx_cache(workspace, requirements, &servers, "mcp-server-time")?;
            let requirements = "e2e/searxng/requirements.txt";
            python::ensure_complete_environment(workspace, requirements, "searxng")?;
            proxies::ensure(workspace)?;
            apt::ensure_program_of("systemd", "systemd-analyze")?;
            let requirements = "e2e/deploy/requirements.txt";
            python::ensure_complete_environment(workspace, requirements, "deploy-python")?;
            node::install_pinned(workspace, "e2e/deploy", "deploy-node")?;
        }
        let llama_cpp = options
            .includes(Suite::Journeys)
            .then(|| local_model::ensure(workspace))
            .transpose()?;
        if needs_bundlers {
            for name in BUNDLER_PACKAGES {
                let folder = format!("e2e/bundlers/{name}");
                node::install_pinned(workspace, &folder, &format!("bundlers-{name}"))?;
            }
        }
        Ok(Self {
            clients,
            llama_cpp,
            wasm_rustc,
            webdriver,
            chromium,
            postgres,
            nats,
            promtool,
            schema_suite,
            node,
        })
    }

    /// Returns the versions of what tests run with, and the variables that change them.
    pub(super) fn versions(&self) -> String {
        let node = self.node.as_ref().map(|node| node.program.clone());
        let chromium = self.chromium.as_ref().map(|it| it.browser.clone());
        let programs = [Some("rustc".into()), Some("python3".into()), node, chromium];
        let versions = programs
            .into_iter()
            .flatten()
            .map(|program| try_capture(Command::new(program).arg("--version")).unwrap_or_default());
        let variables = env::vars_os()
            .filter(|(name, _)| name.as_encoded_bytes().starts_with(b"MCP_WEB_"))
            .map(|variable| format!("{variable:?}\n"));
        let mut all: Vec<String> = versions.chain(variables).collect();
        all.sort();
        all.concat()
    }

    /// Sets the environment variables that pass the paths of the tools to a test program.
    pub(super) fn apply(&self, command: &mut Command) {
        if let Some(chromium) = &self.chromium {
            command
                .env("MCP_WEB_CHROMIUM", &chromium.browser)
                .env("MCP_WEB_CHROMEDRIVER", &chromium.driver)
                .env("CHROMEDRIVER", &chromium.driver)
                .env("WASM_BINDGEN_TEST_WEBDRIVER_JSON", &self.webdriver);
        }
        if let Some(postgres) = &self.postgres {
            command.env("MCP_WEB_POSTGRES_BIN", &postgres.programs);
        }
        if let Some(nats) = &self.nats {
            command
                .env("MCP_WEB_NATS_SERVER", &nats.newest)
                .env("MCP_WEB_NATS_SERVER_OLDEST", &nats.oldest);
        }
        if let Some(promtool) = &self.promtool {
            command.env("MCP_WEB_PROMTOOL", promtool);
        }
        if let Some(suite) = &self.schema_suite {
            command.env("MCP_WEB_JSON_SCHEMA_SUITE", suite);
        }
        if let Some(node) = &self.node {
            command
                .env("MCP_WEB_NODE", &node.program)
                .env("MCP_WEB_E2E_NODE_MODULES", &node.packages);
        }
        if let Some(clients) = &self.clients {
            let [python_1, python_2] = &clients.python;
            command
                .env("MCP_WEB_CLIENTS_NODE_MODULES", &clients.node)
                .env("MCP_WEB_CLIENTS_PYTHON_1", python_1)
                .env("MCP_WEB_CLIENTS_PYTHON_2", python_2)
                .env("MCP_WEB_CLIENTS_ROWS", &clients.rows);
        }
        if let Some(llama_cpp) = &self.llama_cpp {
            command.env("MCP_WEB_LLAMA_CPP", llama_cpp);
        }
    }
}

impl ClientPackages {
    fn ensure(workspace: &Workspace) -> Result<Self> {
        let python = |major: u8| {
            let requirements = format!("e2e/clients/python/mcp-{major}.txt");
            python::ensure_environment(workspace, &requirements, &format!("clients-python-{major}"))
        };
        Ok(Self {
            node: node::install_pinned(workspace, "e2e/clients/node", "clients-node")?,
            python: [python(1)?, python(2)?],
            rows: Table::EachRun.rows_folder(workspace),
        })
    }
}

/// Installs the packages of the further clients. The Python ones need versions of their dependencies that
/// exclude each other.
fn ensure_further_clients(workspace: &Workspace) -> Result<()> {
    node::install_pinned(workspace, "e2e/clients/further", "clients-further-node")?;
    for name in FURTHER_PYTHON {
        let requirements = format!("e2e/clients/python/further-{name}.txt");
        let folder = format!("clients-further-{name}");
        python::ensure_complete_environment(workspace, &requirements, &folder)?;
    }
    Ok(())
}

impl Node {
    fn ensure(workspace: &Workspace) -> Result<Self> {
        node::install_pinned(workspace, "e2e/react-18", "e2e-react-18")?;
        Ok(Self {
            program: node::ensure_node(workspace)?,
            packages: node::install_pinned(workspace, "e2e/node", "e2e-node")?,
        })
    }
}

/// Writes the WebDriver capabilities of headless Chromium.
///
/// The sandbox is off because Chromium does not start with it as root, which is the user in most
/// containers. The tests load only pages of this project.
fn write_webdriver(path: &Path, browser: &Path) -> Result<()> {
    let flags = include_str!("../../../../web-sdk/tests/chromium-flags.txt").lines();
    let args: Vec<&str> = flags.chain(["--headless"]).collect();
    let capabilities = json!({
        "goog:chromeOptions": {
            "binary": browser,
            "args": args,
        },
    });
    path.parent()
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| fs::write(path, capabilities.to_string()))
        .with_context(|| format!("make {} writable", path.display()))
}
