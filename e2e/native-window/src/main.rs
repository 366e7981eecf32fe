//! A program with two windows, each a session. Its arguments are the address of the bridge and the
//! token; `WINDOW_TIMEOUT_MS` is how long calls wait for the first window. The journeys of native
//! windows use it.

mod tools;
mod ui;

use std::cell::RefCell;
use std::error::Error;
use std::rc::Rc;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use mcp_web_sdk::{McpWeb, Token};
use mcp_web_slint::{OfferedWindow, WindowOptions, offer_window};
use slint::{ComponentHandle, Model, SharedString, VecModel};

use crate::tools::ClickedRows;
use crate::ui::{Main, Second};

/// How many rows the list has.
const ROWS: usize = 1000;
/// How long the button "Block" blocks the window.
const BLOCK: Duration = Duration::from_secs(10);

/// Where the program connects.
struct Bridge {
    url: String,
    token: String,
}

impl Bridge {
    fn session(&self, name: &str) -> Result<McpWeb, Box<dyn Error>> {
        let builder = McpWeb::builder("Windows").session_name(name);
        Ok(builder
            .bridge(&self.url)
            .token(Token::new(&self.token))
            .build()?)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let [url, token] = [1, 2].map(|index| std::env::args().nth(index).unwrap_or_default());
    let bridge = Bridge { url, token };
    let window = Main::new()?;
    let clicked = Arc::default();
    fill(&window, &clicked);
    let app = bridge.session("main")?;
    tools::add(&app, &window, &clicked);
    // The second window is offered while it is open, and again when it is opened again.
    let second = Rc::new(RefCell::new(None));
    let opened = second.clone();
    window.on_open_second(move || match open_second(&bridge) {
        Ok(second) => *opened.borrow_mut() = Some(second),
        Err(error) => eprintln!("the second window does not open: {error}"),
    });
    window.show()?;
    let mut options = WindowOptions::default();
    if let Ok(limit) = std::env::var("WINDOW_TIMEOUT_MS") {
        options.window_timeout = Duration::from_millis(limit.parse()?);
    }
    let offered = offer_window(&app, &window, options);
    app.spawn()?;
    println!("started");
    slint::run_event_loop()?;
    offered.leave();
    drop(second.take());
    println!("ended");
    Ok(())
}

fn fill(window: &Main, clicked: &ClickedRows) {
    let names = (1..=ROWS).map(|number| SharedString::from(format!("Row {number}")));
    let rows = Rc::new(VecModel::from(names.collect::<Vec<_>>()));
    window.set_rows(rows.clone().into());
    let clicked = clicked.clone();
    window.on_remove_row(move |index| {
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        if index < rows.row_count() {
            let name = rows.remove(index).to_string();
            let mut clicked = clicked.lock().unwrap_or_else(PoisonError::into_inner);
            clicked.push(name);
        }
    });
    let weak = window.as_weak();
    window.on_increment(move || {
        if let Some(window) = weak.upgrade() {
            window.set_count(window.get_count() + 1);
        }
    });
    window.on_block(|| std::thread::sleep(BLOCK)); // sleep: the handler blocks its window
}

fn open_second(bridge: &Bridge) -> Result<(Second, OfferedWindow), Box<dyn Error>> {
    let window = Second::new()?;
    let weak = window.as_weak();
    window.on_close_me(move || {
        if let Some(window) = weak.upgrade() {
            // A window that is gone needs no hiding.
            let _ = window.hide();
        }
    });
    window.show()?;
    let app = bridge.session("second")?;
    let mut options = WindowOptions::default();
    options.page_id = "second".to_owned();
    let offered = offer_window(&app, &window, options);
    app.spawn()?;
    Ok((window, offered))
}
