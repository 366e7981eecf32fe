//! The mouse actions of a user: clicks and drags.

use std::time::Duration;

use mcp_web_sdk::page::ActionFailure;
use slint::LogicalPosition;
use slint::platform::{PointerEventButton, WindowEvent};

use crate::inspect::check_usable;
use crate::item::Item;
use crate::window_thread::WindowThread;

/// Time between press and release, like that of a finger. A scrolling part holds a press back for
/// 100 ms, and passes it on at the release.
const PRESS_TIME: Duration = Duration::from_millis(30);
/// Time between two moves of a drag: one frame, so that each takes effect.
const MOVE_TIME: Duration = Duration::from_millis(16);

/// A pressed mouse button. It is released when this is dropped, whether or not the action
/// succeeded.
struct Pressed {
    thread: WindowThread,
    position: LogicalPosition,
    button: PointerEventButton,
    /// The element that was pressed, which determines the window that receives the events.
    reference: String,
    is_released: bool,
}

/// Clicks at the centre of an element.
pub(crate) async fn click(
    thread: &WindowThread,
    reference: &str,
    button: PointerEventButton,
    times: u32,
) -> Result<(), ActionFailure> {
    for _ in 0..times {
        let pressed = Pressed::press(thread, reference, button).await?;
        tokio::time::sleep(PRESS_TIME).await; // sleep: the time of a press
        pressed.release().await?;
    }
    Ok(())
}

/// Drags an element by its centre to the centre of another.
pub(crate) async fn drag(
    thread: &WindowThread,
    reference: &str,
    to: &str,
    steps: u32,
) -> Result<(), ActionFailure> {
    let target = to.to_owned();
    let end = thread
        .run(move |open, window| open.target(window, &target).map(|item| center(&item)))
        .await??;
    let mut pressed = Pressed::press(thread, reference, PointerEventButton::Left).await?;
    let start = pressed.position;
    for step in 1..=steps {
        let part = step as f32 / steps as f32;
        let position = LogicalPosition::new(
            start.x + (end.x - start.x) * part,
            start.y + (end.y - start.y) * part,
        );
        tokio::time::sleep(MOVE_TIME).await; // sleep: a frame
        pressed.move_to(position).await?;
    }
    tokio::time::sleep(MOVE_TIME).await; // sleep: a frame
    pressed.release().await
}

/// Moves the pointer over an element.
pub(crate) fn hover(item: &Item) {
    item.send(WindowEvent::PointerMoved {
        position: center(item),
    });
}

/// Turns the wheel over an element. The deltas have the signs of web pages: positive ones scroll
/// down or right. Returns whether anything scrolled.
pub(crate) fn scroll(item: &Item, delta_x: f32, delta_y: f32) -> bool {
    item.send(WindowEvent::PointerScrolled {
        position: center(item),
        delta_x: -delta_x,
        delta_y: -delta_y,
    })
}

fn center(item: &Item) -> LogicalPosition {
    let center = item.center();
    LogicalPosition::new(center.x, center.y)
}

impl Pressed {
    async fn press(
        thread: &WindowThread,
        reference: &str,
        button: PointerEventButton,
    ) -> Result<Self, ActionFailure> {
        let mut pressed = Self {
            thread: thread.clone(),
            position: LogicalPosition::default(),
            button,
            reference: reference.to_owned(),
            is_released: false,
        };
        let reference = reference.to_owned();
        let position = thread
            .run(move |open, window| {
                let item = open.target(window, &reference)?;
                check_usable(&item)?;
                let position = center(&item);
                item.send(WindowEvent::PointerMoved { position });
                item.send(WindowEvent::PointerPressed { position, button });
                Ok(position)
            })
            .await?;
        match position {
            Ok(position) => {
                pressed.position = position;
                Ok(pressed)
            }
            Err(failure) => {
                pressed.is_released = true;
                Err(failure)
            }
        }
    }

    async fn move_to(&mut self, position: LogicalPosition) -> Result<(), ActionFailure> {
        self.position = position;
        let reference = self.reference.clone();
        self.thread
            .run(move |open, window| {
                let event = WindowEvent::PointerMoved { position };
                send(open, window, &reference, event);
            })
            .await
    }

    async fn release(mut self) -> Result<(), ActionFailure> {
        let event = self.release_event();
        let reference = self.reference.clone();
        self.thread
            .run(move |open, window| send(open, window, &reference, event))
            .await?;
        // The release may not have run before this line. A second release has no effect.
        self.is_released = true;
        Ok(())
    }

    fn release_event(&self) -> WindowEvent {
        WindowEvent::PointerReleased {
            position: self.position,
            button: self.button,
        }
    }
}

impl Drop for Pressed {
    fn drop(&mut self) {
        if self.is_released {
            return;
        }
        let event = self.release_event();
        let reference = std::mem::take(&mut self.reference);
        self.thread
            .run_later(move |open, window| send(open, window, &reference, event));
    }
}

/// Sends an event to the window of an element, or to the outermost one if the element no longer
/// exists.
fn send(
    open: &crate::window::OpenWindow,
    window: &slint::Window,
    reference: &str,
    event: WindowEvent,
) {
    match open.target(window, reference) {
        Ok(item) => item.send(event),
        Err(_) => crate::item::send(window, event),
    };
}
