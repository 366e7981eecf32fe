//! The checks of the token and of the page that has it.

use client_stdio::{Config, ToolRoutes};
use serde::Deserialize;

use super::finding::Finding;
use super::version::{fits, is_older};
use crate::port_users::connected_programs;

const SUBJECT: &str = "page";

/// The pages that a bridge lists.
#[derive(Deserialize)]
struct PageList {
    sessions: Vec<ListedPage>,
}

/// A page, as far as a diagnosis describes it.
#[derive(Deserialize)]
struct ListedPage {
    #[serde(default)]
    page_title: Option<String>,
    #[serde(default)]
    origin: Option<String>,
    #[serde(default)]
    connected: bool,
    #[serde(default)]
    available_tools: Vec<String>,
    #[serde(default)]
    sdk_version: Option<String>,
}

/// Checks whether a page with the token is connected, and whether its SDK fits this version of the bridge.
/// Returns the findings, and whether one is connected.
pub(super) async fn check(
    config: &Config,
    routes: &ToolRoutes,
    bridge_version: &str,
) -> (Vec<Finding>, bool) {
    let json = match routes.sessions().await {
        Ok(json) => json,
        Err(error) => {
            let (subject, remedy) = if error.is_auth_error() {
                ("token", "copy it again from the page's configuration panel")
            } else {
                (SUBJECT, "then run `mcp-web doctor` again")
            };
            let problem = Finding::problem(subject, error.to_string(), remedy);
            return (vec![problem], false);
        }
    };
    let list: PageList = match serde_json::from_str(&json) {
        Ok(list) => list,
        Err(error) => {
            let text = format!("the bridge lists pages in an unknown form ({error})");
            let remedy = "use a bridge and a program of the same version";
            return (vec![Finding::problem(SUBJECT, text, remedy)], false);
        }
    };
    let connected: Vec<_> = list.sessions.iter().filter(|page| page.connected).collect();
    if connected.is_empty() {
        return (vec![no_page(config)], false);
    }
    let findings = connected.iter().map(|page| page.finding(bridge_version));
    (findings.collect(), true)
}

impl ListedPage {
    fn finding(&self, bridge_version: &str) -> Finding {
        let title = self.page_title.as_deref().or(self.origin.as_deref());
        let title = title.unwrap_or("a page without a title");
        let text = format!("{title}, with {} tools", self.available_tools.len());
        let Some(sdk) = self.sdk_version.as_deref() else {
            return Finding::ok(SUBJECT, text);
        };
        let text = format!("{text} and version {sdk} of the SDK");
        if fits(sdk, bridge_version) {
            return Finding::ok(SUBJECT, text);
        }
        let text = format!("{text}, which does not fit version {bridge_version} of the bridge");
        let remedy = if is_older(sdk, bridge_version) {
            "update `mcp-web-sdk` in the app, or load the SDK from the bridge (/sdk/mcp-web.js), and reload \
             the page"
        } else {
            "update the bridge"
        };
        Finding::problem(SUBJECT, text, remedy)
    }
}

/// The bridge does not say whether pages of other tokens are connected. The connections to it do.
fn no_page(config: &Config) -> Finding {
    let port = config.url.port_or_known_default().unwrap_or_default();
    // At the port of another machine, a connection of a browser says nothing.
    let programs = config.is_local().then(|| connected_programs(port));
    let programs: Vec<_> = programs
        .into_iter()
        .flatten()
        .map(|it| it.to_string())
        .collect();
    if programs.is_empty() {
        let text = "no page is connected for this token";
        let remedy = "open the app in a browser on the address of this bridge; if it is open, reload it, \
                      and copy the token from its configuration panel again";
        return Finding::problem(SUBJECT, text, remedy);
    }
    let text = format!(
        "no page is connected for this token, but {} is connected to the bridge, so a page may have \
         another token",
        programs.join(", ")
    );
    let remedy = "copy AUTH_TOKEN from the configuration panel of the page that is open, and run \
                  `mcp-web install` with it";
    Finding::problem(SUBJECT, text, remedy)
}
