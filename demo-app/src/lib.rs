//! A demo of all of MCP-Web in one process: the bridge, an agent and, on the bridge's port, a page that
//! uses both.
//!
//! A browser that requests `/` gets a kanban board, which loads its scripts from `/demo/` and the SDK
//! from the bridge's `/sdk/`. The page connects to the bridge's `/ws` and registers its tools; an AI
//! client calls them at `/mcp`; the page's handlers move the cards. The bridge forwards the page's own
//! questions to the agent, which calls the same tools. All files are embedded in the binary.
//!
//! The page's scripts are in `page/js`: `board.js` is the state, `store.js` owns it, `tools.js` defines
//! what AI clients can do with it, and `ask-box.js` asks the agent; `main.js` connects them with the
//! views. The order form at `/demo/order` has no tools: `order-page.js` offers page tools.

mod agent_host;
mod agent_settings;
mod assets;
mod command_line;
mod page;

use axum::routing::get;

pub use agent_host::{AgentHost, AgentInfo, bind_agent};
pub use agent_settings::AgentSettings;
pub use command_line::{command, main};

/// Returns the page and its files, which [`bridge::serve`] serves.
///
/// # Examples
///
/// ```
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// # let model = agent::ModelSettings { provider: Some(agent::Provider::Commands), ..Default::default() };
/// let agent = agent::Config { model, ..Default::default() };
/// let mut config = bridge::Config::default();
/// config.network.bind = ([127, 0, 0, 1], 0).into();
/// let agent_host = demo_app::AgentHost::bind(demo_app::AgentSettings(agent), &mut config).await.unwrap();
/// let demo = bridge::serve(config, demo_app::app(agent_host.info())).await.unwrap();
/// let agent = agent_host.serve(&demo).unwrap();
/// println!("open {}", demo.url());
/// # demo.shutdown().await;
/// # agent.unwrap().shutdown().await;
/// # });
/// ```
pub fn app(agent: AgentInfo) -> bridge::MountedApp {
    bridge::MountedApp {
        routes: page::routes().merge(agent.routes()),
        home: Some(get(page::home)),
    }
}
