//! The tools of the app itself.

use mcp_web::{CallError, McpWeb, NoArguments, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use slint::{ComponentHandle, Model, Weak};
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
struct Count {
    now: i32,
}

/// Adds the tools.
pub(crate) fn add(app: &McpWeb, window: &Main) {
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
    let main = window.as_weak();
    app.add_tool(
        Tool::new("update_rows").describe("Writes all rows and the count again, so many times"),
        move |Times { times }, _call| {
            let main = main.clone();
            async move {
                for _ in 0..times {
                    in_window(&main, update_rows).await?;
                }
                Ok(())
            }
        },
    );
    // It needs no window, so it answers while the window is blocked.
    app.add_tool(
        Tool::new("ping").describe("Answers"),
        |_: NoArguments, _call| async { Ok("pong") },
    );
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
