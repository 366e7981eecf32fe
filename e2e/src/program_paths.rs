//! The paths of the programs that the journeys run. `cargo xtask test` installs and builds them.

use std::env;
use std::path::{Path, PathBuf};

pub use raw_page::built_program as built;

/// Returns the folder of the workspace.
pub fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the crate is a folder of the workspace")
}

/// Returns the program with the bridge, the agent and the demo as its commands.
pub fn mcp_web() -> PathBuf {
    built("mcp-web")
}

/// Returns the program of the agent. `MCP_WEB_E2E_AGENT` names that of another version.
pub fn agent() -> PathBuf {
    env::var_os("MCP_WEB_E2E_AGENT").map_or_else(mcp_web, PathBuf::from)
}

/// Returns the program of `e2e/native-window`, which is not part of the workspace.
pub fn native_window() -> PathBuf {
    let path = workspace().join("target/native-window/debug/native-window");
    require_existing(path, "the program native-window")
}

/// Returns the built npm package, for projects that install it.
pub fn sdk_package() -> PathBuf {
    let default = workspace().join("target/sdk");
    require_existing(path_from_env("MCP_WEB_SDK_DIR", default), "the built SDK")
}

/// Returns the path of Node 22, which the Inspector needs.
pub fn node() -> PathBuf {
    let default = workspace().join("target/tools/node22/bin/node");
    require_existing(path_from_env("MCP_WEB_NODE", default), "Node 22")
}

/// Returns the installed packages of `e2e/node/package.json`.
pub fn node_modules() -> PathBuf {
    let default = workspace().join("target/tools/e2e-node/node_modules");
    require_existing(
        path_from_env("MCP_WEB_E2E_NODE_MODULES", default),
        "the npm packages of e2e/node",
    )
}

/// Returns the installed packages of `e2e/react-18/package.json`.
pub fn react_18_node_modules() -> PathBuf {
    let path = workspace().join("target/tools/e2e-react-18/node_modules");
    require_existing(path, "the npm packages of e2e/react-18")
}

/// Returns the installed packages of a folder of `e2e/agui`.
pub fn agui_node_modules(name: &str) -> PathBuf {
    let path = workspace().join(format!("target/tools/agui-{name}/node_modules"));
    require_existing(path, "the npm packages of a client of AG-UI")
}

/// Returns the folder with the built pages of `e2e/page-tools`.
pub fn page_tools_pages() -> PathBuf {
    let path = workspace().join("target/page-tools/pages");
    require_existing(path, "the pages of e2e/page-tools")
}

/// Returns the installed packages of `e2e/lowdefy` (`lowdefy`) or of `web-sdk/lowdefy` (`lowdefy-host`).
pub fn lowdefy_node_modules(name: &str) -> PathBuf {
    let path = workspace().join(format!("target/tools/{name}/node_modules"));
    require_existing(path, "the npm packages of Lowdefy")
}

/// Returns the built npm package of the host of Lowdefy apps.
pub fn lowdefy_package() -> PathBuf {
    let path = workspace().join("target/lowdefy");
    require_existing(path, "the built host of Lowdefy apps")
}

/// Returns the installed packages of `web-sdk/package.json`: what builds the SDK, and schema libraries.
pub fn sdk_node_modules() -> PathBuf {
    let path = workspace().join("target/tools/web-sdk-node/node_modules");
    require_existing(path, "the npm packages of web-sdk")
}

/// Returns the installed packages of `e2e/clients/node/package.json`.
pub fn clients_node_modules() -> PathBuf {
    let default = workspace().join("target/tools/clients-node/node_modules");
    require_existing(
        path_from_env("MCP_WEB_CLIENTS_NODE_MODULES", default),
        "the npm packages of e2e/clients/node",
    )
}

/// Returns the name and version of one of these packages.
pub fn clients_package(name: &str) -> String {
    package(&clients_node_modules(), name)
}

/// Returns the name and version of a package in a `node_modules` folder.
pub fn package(node_modules: &Path, name: &str) -> String {
    let manifest = node_modules.join(name).join("package.json");
    let manifest = std::fs::read_to_string(manifest).expect("the package is installed");
    let manifest: serde_json::Value = serde_json::from_str(&manifest).expect("it is JSON");
    let version = manifest["version"]
        .as_str()
        .expect("a package has a version");
    format!("{name} {version}")
}

/// Returns the Python environment with the libraries for this major version of the MCP SDK.
pub fn clients_python(major: u8) -> PathBuf {
    let default = workspace().join(format!("target/tools/clients-python-{major}"));
    require_existing(
        path_from_env(&format!("MCP_WEB_CLIENTS_PYTHON_{major}"), default),
        "the Python packages of e2e/clients/python",
    )
}

/// Returns a folder of `target/tools`.
pub fn tool(name: &str) -> PathBuf {
    let path = workspace().join("target/tools").join(name);
    require_existing(path, "a tool of the tests")
}

/// Returns the Python environment with the server of llama.cpp.
pub fn llama_cpp_python() -> PathBuf {
    let default = workspace().join("target/tools/llama-cpp");
    require_existing(
        path_from_env("MCP_WEB_LLAMA_CPP", default),
        "the Python package of e2e/llama-cpp",
    )
}

/// Returns a program of the MCP servers in `e2e/mcp-servers`.
pub fn mcp_server(name: &str) -> PathBuf {
    let tools = workspace().join("target/tools");
    let folders = [
        "mcp-servers-node/node_modules/.bin",
        "mcp-servers-python/bin",
    ];
    let paths = folders.map(|folder| tools.join(folder).join(name));
    let path = paths.into_iter().find(|path| path.exists());
    path.unwrap_or_else(|| panic!("{name} is not installed: run `cargo xtask test`"))
}

/// Returns the cache of `uvx` with the packages that it starts.
pub fn uvx_cache() -> PathBuf {
    let path = workspace().join("target/tools/uvx-cache");
    require_existing(path, "the cache of uvx")
}

/// Returns the Python environment with SearXNG.
pub fn searxng_python() -> PathBuf {
    let path = workspace().join("target/tools/searxng/bin/python");
    require_existing(path, "the Python packages of e2e/searxng")
}

/// Returns the path of Chromium.
pub fn chromium() -> PathBuf {
    require_existing(
        path_from_env("MCP_WEB_CHROMIUM", "/usr/bin/chromium".into()),
        "Chromium",
    )
}

/// Returns the WebDriver server for Chromium.
pub fn chromedriver() -> PathBuf {
    require_existing(
        path_from_env("MCP_WEB_CHROMEDRIVER", "/usr/bin/chromedriver".into()),
        "chromedriver",
    )
}

/// Returns the folder for screenshots.
pub fn screenshots() -> PathBuf {
    let folder = workspace().join("target/e2e-screenshots");
    std::fs::create_dir_all(&folder).expect("the target folder can be written");
    folder
}

fn path_from_env(key: &str, default: PathBuf) -> PathBuf {
    env::var_os(key).map_or(default, PathBuf::from)
}

fn require_existing(path: PathBuf, what: &str) -> PathBuf {
    assert!(
        path.exists(),
        "{what} is not at {}: run `cargo xtask test`",
        path.display()
    );
    path
}
