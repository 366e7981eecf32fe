//! The tools of the app itself.

use std::sync::{Arc, Mutex, PoisonError};

use mcp_web_sdk::{CallError, McpWeb, NoArguments, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use slint::{ComponentHandle, Model, SharedString, VecModel, Weak};
use tokio::sync::oneshot;

use crate::ui::Main;

#[derive(Deserialize, JsonSchema)]
struct By {
    /// How much to add.
    by: u8,
}

#[derive(Deserialize, JsonSchema)]
struct Times {
    times: u16,
}

#[derive(Serialize, JsonSchema)]
struct Clicked {
    rows: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct Count {
    now: i32,
}

/// The names of the rows whose button was clicked, in order.
pub(crate) type ClickedRows = Arc<Mutex<Vec<String>>>;

/// Adds the tools.
pub(crate) fn add(app: &McpWeb, window: &Main, clicked: &ClickedRows) {
    let main = window.as_weak();
    app.add_tool(
        Tool::new("increment").describe("Counts up"),
        move |By { by }, _call| {
            let main = main.clone();
            async move {
                let now = in_window(&main, move |window| {
                    window.set_count(window.get_count() + i32::from(by));
                    window.get_count()
                });
                Ok(Count { now: now.await? })
            }
        },
    );
    let update = Tool::new("update_rows");
    let update = update.describe("Writes all rows and the count again, so many times");
    add_repeated(app, window, update, update_rows);
    let remove = Tool::new("remove_first_rows").describe("Removes the first row, so many times");
    add_repeated(app, window, remove, remove_first_row);
    let clicked = clicked.clone();
    app.add_tool(
        Tool::new("clicked_rows").describe("Lists the rows that were removed by a click"),
        move |_: NoArguments, _call| {
            let clicked = clicked.lock().unwrap_or_else(PoisonError::into_inner);
            std::future::ready(Ok(Clicked {
                rows: clicked.clone(),
            }))
        },
    );
    let main = window.as_weak();
    app.add_tool(
        Tool::new("close").describe("Closes the window"),
        move |_: NoArguments, _call| {
            let main = main.clone();
            async move { Ok(in_window(&main, |window| window.hide()).await??) }
        },
    );
    // It needs no window, so it answers while the window is blocked.
    app.add_tool(
        Tool::new("ping").describe("Answers"),
        |_: NoArguments, _call| async { Ok("pong") },
    );
}

/// Adds a tool that does something in the window, several times.
fn add_repeated(app: &McpWeb, window: &Main, tool: Tool, work: fn(Main)) {
    let main = window.as_weak();
    app.add_tool(tool, move |Times { times }, _call| {
        let main = main.clone();
        async move {
            for _ in 0..times {
                in_window(&main, work).await?;
            }
            Ok(())
        }
    });
}

fn remove_first_row(window: Main) {
    let rows = window.get_rows();
    if let Some(rows) = rows.as_any().downcast_ref::<VecModel<SharedString>>() {
        rows.remove(0);
    }
}

fn update_rows(window: Main) {
    window.set_count(window.get_count() + 1);
    let rows = window.get_rows();
    for index in 0..rows.row_count() {
        if let Some(name) = rows.row_data(index) {
            rows.set_row_data(index, name);
        }
    }
}

async fn in_window<Output: Send + 'static>(
    main: &Weak<Main>,
    work: impl FnOnce(Main) -> Output + Send + 'static,
) -> Result<Output, CallError> {
    let (sender, receiver) = oneshot::channel();
    main.upgrade_in_event_loop(move |window| {
        let _ = sender.send(work(window));
    })?;
    Ok(receiver.await?)
}
