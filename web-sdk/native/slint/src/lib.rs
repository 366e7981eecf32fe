//! Lets AI clients read and use the windows of a Slint program, with the same tools as a web page.
//!
//! ```no_run
//! use mcp_web_sdk::{McpWeb, Token};
//! use mcp_web_slint::{WindowOptions, offer_window};
//! use slint::ComponentHandle;
//!
//! slint::slint! {
//!     export component Main inherits Window {
//!         Text { text: "Hello"; }
//!     }
//! }
//!
//! # fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let app = McpWeb::builder("Counter").token(Token::kept("counter")?).build()?;
//! let window = Main::new()?;
//! window.show()?;
//! let offered = offer_window(&app, &window, WindowOptions::default());
//! app.spawn()?;
//! slint::run_event_loop()?;
//! offered.leave();
//! # Ok(())
//! # }
//! ```
//!
//! A call arrives in the thread of the connection. `driver` takes it to the thread of the window
//! (`window_thread`), with a time limit: calls to a blocked window fail, and the connection stays
//! open. There, `window` has the handles (`handles`) and builds a tree of the shown elements
//! (`tree`, `inspect`); `value`, `keys` and `pointer` act as a user does, and `screenshot` takes
//! the picture. Only `item` knows how Slint names and stores its elements.
#![warn(missing_docs)]

mod action;
mod driver;
mod handles;
mod inspect;
mod item;
mod keys;
mod offer;
mod pointer;
mod role;
mod screenshot;
mod tree;
mod value;
mod window;
mod window_thread;

pub use offer::{OfferedWindow, WindowOptions, offer_window};
