use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::json;

use super::{Options, Suite};
use crate::chromium::Chromium;
use crate::process::try_capture;
use crate::step::{Outcome, step};
use crate::wasm_toolchain::WasmRustc;
use crate::{Workspace, apt, clients, node, python};

/// What tests need beside Rust. Tests are told by environment where it is.
pub(crate) struct Tools {
    pub(super) wasm_rustc: WasmRustc,
    /// The file that makes the SDK's tests find the browser.
    pub(super) webdriver: PathBuf,
    chromium: Option<Chromium>,
    node: Option<Node>,
    pub(crate) clients: Option<ClientPackages>,
}

/// The MCP clients that are driven, and where what they did is written down.
pub(crate) struct ClientPackages {
    pub(crate) node: PathBuf,
    pub(crate) python: [PathBuf; 2],
    pub(crate) rows: PathBuf,
}

struct Node {
    program: PathBuf,
    packages: PathBuf,
}

impl Tools {
    /// Installs what the chosen suites need and is not there yet.
    pub(super) fn ensure(workspace: &Workspace, options: &Options) -> Result<Self> {
        let wasm_rustc = WasmRustc::ensure()?;
        node::install_pinned(workspace, "web-sdk", "web-sdk-node")?;
        let clients = options.wants(Suite::Clients);
        let journeys = options.wants(Suite::Journeys) || clients;
        let chromium = (journeys || options.wants(Suite::Wasm))
            .then(Chromium::ensure)
            .transpose()?;
        if journeys {
            ensure_curl()?;
        }
        let webdriver = workspace.tools().join("webdriver.json");
        if let Some(chromium) = &chromium {
            write_webdriver(&webdriver, &chromium.browser)?;
        }
        let node = (journeys || options.wants(Suite::Rust))
            .then(|| Node::ensure(workspace))
            .transpose()?;
        let clients = clients
            .then(|| ClientPackages::ensure(workspace))
            .transpose()?;
        Ok(Self {
            clients,
            wasm_rustc,
            webdriver,
            chromium,
            node,
        })
    }

    /// Tells a test program where the tools are.
    pub(super) fn apply(&self, command: &mut Command) {
        if let Some(chromium) = &self.chromium {
            command
                .env("MCP_WEB_CHROMIUM", &chromium.browser)
                .env("MCP_WEB_CHROMEDRIVER", &chromium.driver)
                .env("CHROMEDRIVER", &chromium.driver)
                .env("WASM_BINDGEN_TEST_WEBDRIVER_JSON", &self.webdriver);
        }
        if let Some(node) = &self.node {
            command
                .env("MCP_WEB_NODE", &node.program)
                .env("MCP_WEB_E2E_NODE_MODULES", &node.packages);
        }
        if let Some(clients) = &self.clients {
            let [one, two] = &clients.python;
            command
                .env("MCP_WEB_CLIENTS_NODE_MODULES", &clients.node)
                .env("MCP_WEB_CLIENTS_PYTHON_1", one)
                .env("MCP_WEB_CLIENTS_PYTHON_2", two)
                .env("MCP_WEB_CLIENTS_ROWS", &clients.rows);
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
            rows: clients::rows_folder(workspace),
        })
    }
}

impl Node {
    fn ensure(workspace: &Workspace) -> Result<Self> {
        Ok(Self {
            program: node::ensure_node(workspace)?,
            packages: node::install_pinned(workspace, "e2e/node", "e2e-node")?,
        })
    }
}

/// A journey runs the README's commands, and one of them is `curl`.
fn ensure_curl() -> Result<()> {
    step("curl", || {
        if try_capture(Command::new("curl").arg("--version")).is_some() {
            return Ok(Outcome::UpToDate(()));
        }
        if !apt::is_available() {
            bail!("install curl and try again");
        }
        apt::install(&["curl"])?;
        Ok(Outcome::Done(()))
    })
}

/// As root, as in most containers, Chromium starts only without its sandbox. The pages are our own.
fn write_webdriver(path: &Path, browser: &Path) -> Result<()> {
    let capabilities = json!({
        "goog:chromeOptions": {
            "binary": browser,
            "args": [
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
                "--disable-dev-shm-usage",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
            ],
        },
    });
    path.parent()
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| fs::write(path, capabilities.to_string()))
        .with_context(|| format!("make {} writable", path.display()))
}
