//! One process that shows all of MCP-Web: the bridge and, on the same port, a page that uses it.
//!
//! A browser that asks for `/` gets a kanban board, which loads its scripts from `/demo/` and the
//! SDK from the bridge's `/sdk/`. The page connects to the bridge's `/ws` and registers its tools;
//! an AI client calls them at `/mcp`; the page's handlers move the cards. Everything is embedded
//! in the binary.
//!
//! The page's scripts are in `page/js`: `board.js` is the state, `store.js` its one owner,
//! `tools.js` what AI clients can do with it; `main.js` puts them and the views together.

mod assets;
mod page;

use axum::routing::get;

/// The page and its files, to be served by [`bridge::serve`].
///
/// # Examples
///
/// ```
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let config = bridge::Config { bind: ([127, 0, 0, 1], 0).into(), ..Default::default() };
/// let demo = bridge::serve(config, demo_app::app()).await.unwrap();
/// println!("open {}", demo.url());
/// # demo.shutdown().await;
/// # });
/// ```
pub fn app() -> bridge::App {
    bridge::App {
        routes: page::routes(),
        home: Some(get(page::home)),
    }
}
