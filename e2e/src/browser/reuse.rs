//! Browsers that the tests of a process use one after the other.

use std::sync::{LazyLock, Mutex};
use std::time::Duration;

use fantoccini::error::CmdError;
use serde_json::json;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::SemaphorePermit;
use tokio::time::timeout;

use super::chromium::Chromium;

/// The browsers that no test uses at the moment. The shell that runs them ends them with the process.
static IDLE: Mutex<Vec<Chromium>> = Mutex::new(Vec::new());

/// The runtime for connections to these browsers: that of a test ends with the test.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(1).enable_all().build().unwrap()
});

/// A browser that needs longer to be emptied, because a page hangs, is not used again.
const RESET_WITHIN: Duration = Duration::from_secs(10);

/// An idle browser whose empty tab needs longer to run a script is not used again.
const ALIVE_WITHIN: Duration = Duration::from_secs(10);

/// Takes a browser with one empty tab, nothing stored, and no permissions that a test has set.
pub(super) async fn take() -> Chromium {
    while let Some(chromium) = take_idle() {
        if is_alive(&chromium).await {
            return chromium;
        }
    }
    start().await
}

fn take_idle() -> Option<Chromium> {
    IDLE.lock().expect("no holder panics").pop()
}

async fn start() -> Chromium {
    let started = RUNTIME.spawn(Chromium::start(&[], None));
    started.await.expect("Chromium starts")
}

/// Returns whether a browser, with its driver and the process of its tab, can still be used: each of
/// them may have been killed when the system had no memory left.
async fn is_alive(chromium: &Chromium) -> bool {
    let answer = chromium.client.execute("return 1", Vec::new());
    matches!(timeout(ALIVE_WITHIN, answer).await, Ok(Ok(_)))
}

/// Ends the pages of a browser, and keeps it for the next test, which gets its permit.
pub(super) fn give_back(chromium: Chromium, permit: SemaphorePermit<'static>) {
    RUNTIME.spawn(async move {
        if let Ok(Ok(())) = timeout(RESET_WITHIN, reset(&chromium)).await {
            IDLE.lock().expect("no holder panics").push(chromium);
        }
        drop(permit);
    });
}

async fn reset(chromium: &Chromium) -> Result<(), CmdError> {
    let client = &chromium.client;
    let former = client.windows().await?;
    let empty = client.new_window(true).await?.handle;
    for tab in former {
        client.switch_to_window(tab).await?;
        client.close_window().await?;
    }
    client.switch_to_window(empty).await?;
    let all = json!({ "origin": "*", "storageTypes": "all" });
    chromium.devtools("Storage.clearDataForOrigin", all).await?;
    for command in [
        "Network.clearBrowserCookies",
        "Network.clearBrowserCache",
        "Browser.resetPermissions",
    ] {
        chromium.devtools(command, json!({})).await?;
    }
    chromium.console().await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use rustix::process::{Signal, kill_process};
    use serde_json::json;

    use super::super::Browser;
    use super::{is_alive, start};
    use crate::StaticSite;

    const STORE: &str = "document.cookie = 'a=1; max-age=1000';
        localStorage.a = sessionStorage.a = 1;
        await (await caches.open('a')).put('/a', new Response('a'));
        await new Promise((resolve) => indexedDB.open('a').onsuccess = resolve);
        console.error('a');";

    const STORED: &str = "return [document.cookie, { ...localStorage }, { ...sessionStorage },
        await caches.keys(), (await indexedDB.databases()).length,
        (await navigator.permissions.query({ name: 'geolocation' })).state]";

    #[tokio::test]
    async fn a_browser_that_is_used_again_has_nothing_of_the_test_before() {
        let site = StaticSite::with_index("<p>A page".into()).await;
        let browser = Browser::open().await;
        browser.goto(site.url()).await;
        let fresh = browser.eval(STORED, json!(null)).await;
        browser.eval(STORE, json!(null)).await;
        let denied = json!({ "permission": { "name": "geolocation" }, "setting": "denied" });
        browser.devtools("Browser.setPermission", denied).await;
        let stored = browser.eval(STORED, json!(null)).await;
        for (index, value) in stored.as_array().unwrap().iter().enumerate() {
            assert_ne!(*value, fresh[index]);
        }
        browser.open_tab().await;
        let process = browser.chromium().driver.id();
        drop(browser);

        // The first of the two permits may be another one than that of the browser before.
        let browsers = [Browser::open().await, Browser::open().await];
        let used = |it: &&Browser| it.chromium().driver.id() == process;
        let browser = browsers.iter().find(used).expect("it is used again");
        assert_eq!(browser.client().windows().await.unwrap().len(), 1);
        assert_eq!(browser.console().await.len(), 0);
        browser.goto(site.url()).await;
        assert_eq!(browser.eval(STORED, json!(null)).await, fresh);
    }

    #[tokio::test]
    async fn a_browser_whose_tab_or_process_was_killed_is_not_alive() {
        for killed in ["--type=renderer", "--user-data-dir"] {
            let chromium = start().await;
            assert!(is_alive(&chromium).await);
            let processes = chromium.driver.descendants(killed);
            assert!(!processes.is_empty(), "{killed}");
            for process in processes {
                // It may have ended with another one.
                let _ = kill_process(process, Signal::KILL);
            }
            assert!(!is_alive(&chromium).await, "{killed}");
        }
    }
}
