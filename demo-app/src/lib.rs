//! One process that shows all of MCP-Web: the bridge, an agent and, on the bridge's port, a page that
//! uses both.
//!
//! A browser that asks for `/` gets a kanban board, which loads its scripts from `/demo/` and the
//! SDK from the bridge's `/sdk/`. The page connects to the bridge's `/ws` and registers its tools;
//! an AI client calls them at `/mcp`; the page's handlers move the cards. What the page itself asks,
//! the bridge passes on to the agent, which calls the same tools. Everything is embedded in the
//! binary.
//!
//! The page's scripts are in `page/js`: `board.js` is the state, `store.js` its one owner,
//! `tools.js` what AI clients can do with it, `ask-box.js` what the page asks; `main.js` puts them and
//! the views together.

mod agent_host;
mod agent_settings;
mod assets;
mod page;

use axum::routing::get;

pub use agent_host::{AgentHost, AgentInfo};
pub use agent_settings::AgentSettings;

/// The page and its files, to be served by [`bridge::serve`].
///
/// # Examples
///
/// ```
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// # let model = agent::ModelSettings { provider: Some(agent::Provider::Commands), ..Default::default() };
/// let agent = agent::Config { model, ..Default::default() };
/// let mut config = bridge::Config { bind: ([127, 0, 0, 1], 0).into(), ..Default::default() };
/// let answerer = demo_app::Answerer::bind(demo_app::AgentSettings(agent), &mut config).await.unwrap();
/// let demo = bridge::serve(config, demo_app::app(answerer.about())).await.unwrap();
/// let agent = answerer.serve(&demo).unwrap();
/// println!("open {}", demo.url());
/// # demo.shutdown().await;
/// # agent.unwrap().shutdown().await;
/// # });
/// ```
pub fn app(about: AgentInfo) -> bridge::App {
    bridge::App {
        routes: page::routes().merge(about.routes()),
        home: Some(get(page::home)),
    }
}
