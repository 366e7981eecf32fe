//! Headless Chromium, controlled through chromedriver.

mod chromium;
mod person;
mod reuse;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::{DEADLINE, VirtualDisplay, program_paths, with_deadline};
use chromium::Chromium;

/// At most two browsers run at the same time, because more of them slow each other down.
static BROWSER_SLOTS: Semaphore = Semaphore::const_new(2);

/// A browser with an empty tab and nothing stored. A start costs more than a second of a processor,
/// so the next test gets the same one, unless this test needed other flags.
#[derive(Debug)]
pub struct Browser {
    /// Present until this is dropped.
    chromium: Option<(Chromium, SemaphorePermit<'static>)>,
    is_reusable: AtomicBool,
}

/// The value of `prefers-color-scheme`.
#[derive(Clone, Copy, Debug)]
pub enum ColorScheme {
    /// Dark text on a light background.
    Light,
    /// Light text on a dark background.
    Dark,
}

impl Browser {
    /// Opens Chromium with an empty window.
    pub async fn open() -> Self {
        let permit = permit().await;
        let chromium = reuse::take().await;
        Self::new(chromium, permit, true)
    }

    /// Starts Chromium with a real window on a display, instead of headless.
    pub async fn open_in_window(display: &VirtualDisplay) -> Self {
        let permit = permit().await;
        let chromium = Chromium::start(&[], Some(display)).await;
        Self::new(chromium, permit, false)
    }

    /// Starts Chromium with more command-line flags.
    pub async fn open_with(flags: &[&str]) -> Self {
        let permit = permit().await;
        let chromium = Chromium::start(flags, None).await;
        Self::new(chromium, permit, false)
    }

    fn new(chromium: Chromium, permit: SemaphorePermit<'static>, is_reusable: bool) -> Self {
        Self {
            chromium: Some((chromium, permit)),
            is_reusable: AtomicBool::new(is_reusable),
        }
    }

    fn chromium(&self) -> &Chromium {
        let present = self.chromium.as_ref();
        &present.expect("it is present until the drop").0
    }

    fn client(&self) -> &fantoccini::Client {
        &self.chromium().client
    }

    /// Opens `url` and waits for its `load` event.
    pub async fn goto(&self, url: &str) {
        with_deadline("a page to load", self.client().goto(url))
            .await
            .unwrap_or_else(|error| panic!("cannot open the page: {error}"));
    }

    /// Reloads the page.
    pub async fn reload(&self) {
        with_deadline("the page to reload", self.client().refresh())
            .await
            .unwrap();
    }

    /// Goes back to the previous page.
    pub async fn back(&self) {
        with_deadline("the previous page", self.client().back())
            .await
            .unwrap();
    }

    /// Opens a new tab and switches to it.
    pub async fn open_tab(&self) {
        let tab = with_deadline("a new tab", self.client().new_window(true))
            .await
            .unwrap();
        self.client().switch_to_window(tab.handle).await.unwrap();
    }

    /// Switches to the tab whose title contains `title`.
    pub async fn switch_to_tab(&self, title: &str) {
        let tabs = with_deadline("the tabs", self.client().windows())
            .await
            .unwrap();
        for tab in tabs {
            self.client().switch_to_window(tab).await.unwrap();
            if self.client().title().await.unwrap().contains(title) {
                return;
            }
        }
        panic!("no tab has the title {title:?}");
    }

    /// Enters the frame with this index, from 0, of the current document. Scripts then run in that
    /// frame.
    pub async fn enter_frame(&self, index: u16) {
        with_deadline("a frame", self.client().enter_frame(index))
            .await
            .unwrap();
    }

    /// Returns from a frame to the top-level document of the tab.
    pub async fn leave_frames(&self) {
        // Switching to a tab selects its top-level document.
        let tab = self.client().window().await.unwrap();
        self.client().switch_to_window(tab).await.unwrap();
    }

    /// Closes the current tab. The browser stops with its last tab.
    pub async fn close_tab(&self) {
        with_deadline("the tab to close", self.client().close_window())
            .await
            .unwrap();
    }

    /// Runs `body`, the body of an async function with the parameter `args`, in the page and
    /// returns its value. An exception fails the test.
    pub async fn eval(&self, body: &str, args: Value) -> Value {
        let script = format!(
            "const [args, done] = arguments;
             (async () => {{ {body} }})().then(
               (value) => done({{ value: value ?? null }}),
               (error) => done({{ error: String(error?.stack ?? error) }}));"
        );
        self.run(&script, args).await
    }

    /// Waits in the page until the expression `condition` is truthy, and returns its value. The
    /// expression may await; an exception counts as not yet true.
    pub async fn wait_for(&self, condition: &str) -> Value {
        let script = format!(
            "const [limit, done] = arguments;
             const end = performance.now() + limit;
let last = 'it was never true';
const check = async () => {{
               try {{
                 const value = await ({condition});
                 if (value) return done({{ value }});
                 last = `it is ${{JSON.stringify(value)}}`;
               }} catch (error) {{ last = String(error); }}
               if (performance.now() > end) done({{ error: `timed out: ${{last}}` }});
               else setTimeout(check, 15);
             }};
check();"
        );
        self.run_named(condition, &script, json!(DEADLINE.as_millis()))
            .await
    }

    /// Returns the visible text of the page.
    pub async fn text(&self) -> String {
        let text = self.eval("return document.body.innerText", json!(null));
        text.await.as_str().unwrap_or_default().to_owned()
    }

    /// Stops the renderer processes (SIGSTOP), as when a machine sleeps or a browser suspends tabs.
    /// No script can run in a page until the value is dropped.
    pub fn suspend_pages(&self) -> SuspendedPages {
        let renderers = self.chromium().driver.descendants("--type=renderer");
        assert!(!renderers.is_empty(), "there is no page to suspend");
        for renderer in &renderers {
            kill_process(*renderer, Signal::STOP).expect("a renderer can be stopped");
        }
        SuspendedPages(renderers)
    }

    /// Kills the renderer processes (SIGKILL), as when the system has no memory left.
    pub fn kill_pages(&self) {
        self.is_reusable.store(false, Ordering::Relaxed);
        let renderers = self.chromium().driver.descendants("--type=renderer");
        assert!(!renderers.is_empty(), "there is no page to kill");
        for renderer in renderers {
            kill_process(renderer, Signal::KILL).expect("a renderer can be killed");
        }
    }

    /// Saves a screenshot as `target/e2e-screenshots/<name>.png` once all finite animations have
    /// ended.
    pub async fn screenshot(&self, name: &str) -> PathBuf {
        let running = "document.getAnimations().filter((animation) =>
            animation.playState === 'running'
            && animation.effect.getComputedTiming().endTime < Infinity)";
        self.wait_for(&format!("{running}.length === 0")).await;
        let image = with_deadline("a screenshot", self.client().screenshot())
            .await
            .unwrap();
        let path = program_paths::screenshots().join(format!("{name}.png"));
        std::fs::write(&path, image).unwrap();
        path
    }

    /// Emulates a device with this colour scheme and size in CSS pixels.
    pub async fn emulate(&self, scheme: ColorScheme, width: u32, height: u32) {
        let scheme = match scheme {
            ColorScheme::Light => "light",
            ColorScheme::Dark => "dark",
        };
        let feature = json!({ "name": "prefers-color-scheme", "value": scheme });
        self.devtools(
            "Emulation.setEmulatedMedia",
            json!({ "features": [feature] }),
        )
        .await;
        let mobile = width < 600;
        self.devtools(
            "Emulation.setDeviceMetricsOverride",
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile }),
        )
        .await;
    }

    /// Returns the console messages of the page, and those of the browser about it, since the last
    /// call.
    pub async fn console(&self) -> Vec<String> {
        let entries = with_deadline("the console", self.chromium().console()).await;
        let entries = entries.unwrap();
        let messages = entries.as_array().into_iter().flatten();
        messages
            .map(|entry| entry["message"].as_str().unwrap_or_default().to_owned())
            .collect()
    }

    /// Runs a command of the Chrome DevTools Protocol.
    pub async fn devtools(&self, command: &str, parameters: Value) -> Value {
        let answer = self.chromium().devtools(command, parameters);
        with_deadline(command, answer).await.unwrap()
    }

    /// Runs a command of the Chrome DevTools Protocol that may fail.
    async fn try_devtools(&self, command: &str, parameters: Value) -> Option<Value> {
        let answer = self.chromium().devtools(command, parameters);
        with_deadline(command, answer).await.ok()
    }

    async fn run(&self, script: &str, argument: Value) -> Value {
        self.run_named("a script in the page", script, argument)
            .await
    }

    async fn run_named(&self, what: &str, script: &str, argument: Value) -> Value {
        let answer = self.client().execute_async(script, vec![argument]).await;
        let mut answer = answer.unwrap_or_else(|error| panic!("{what}: {error}"));
        if let Some(error) = answer["error"].as_str() {
            let console = self.console().await.join("\n");
            panic!("{what}: {error}; the console contains:\n{console}");
        }
        answer["value"].take()
    }
}

async fn permit() -> SemaphorePermit<'static> {
    // This wait has no deadline: the tests that hold the permits have their own deadlines.
    let permit = BROWSER_SLOTS.acquire().await;
    permit.expect("the semaphore is never closed")
}

impl Drop for Browser {
    fn drop(&mut self) {
        let is_reusable = *self.is_reusable.get_mut() && !std::thread::panicking();
        if let Some((chromium, permit)) = self.chromium.take()
            && is_reusable
        {
            reuse::give_back(chromium, permit);
        }
    }
}

/// Pages that are suspended. They resume when this is dropped.
#[derive(Debug)]
pub struct SuspendedPages(Vec<Pid>);

impl Drop for SuspendedPages {
    fn drop(&mut self) {
        for renderer in &self.0 {
            // It is not an error if the process has ended meanwhile.
            let _ = kill_process(*renderer, Signal::CONT);
        }
    }
}
