//! The checks of the token and of the page that has it.

use client_stdio::{Config, ToolRoutes};
use serde::Deserialize;

use super::finding::Finding;
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
}

/// Checks whether a page with the token is connected. Returns the finding, and whether one is.
pub(super) async fn check(config: &Config, routes: &ToolRoutes) -> (Finding, bool) {
    let json = match routes.sessions().await {
        Ok(json) => json,
        Err(error) => {
            let (subject, remedy) = if error.is_auth_error() {
                ("token", "copy it again from the page's configuration panel")
            } else {
                (SUBJECT, "then run `mcp-web doctor` again")
            };
            return (Finding::problem(subject, error.to_string(), remedy), false);
        }
    };
    let list: PageList = match serde_json::from_str(&json) {
        Ok(list) => list,
        Err(error) => {
            let text = format!("the bridge lists pages in an unknown form ({error})");
            let remedy = "use a bridge and a program of the same version";
            return (Finding::problem(SUBJECT, text, remedy), false);
        }
    };
    let connected: Vec<_> = list.sessions.iter().filter(|page| page.connected).collect();
    if connected.is_empty() {
        return (no_page(config), false);
    }
    let pages: Vec<_> = connected.iter().map(|page| page.description()).collect();
    (Finding::ok(SUBJECT, pages.join("; ")), true)
}

impl ListedPage {
    fn description(&self) -> String {
        let title = self.page_title.as_deref().or(self.origin.as_deref());
        let title = title.unwrap_or("a page without a title");
        format!("{title}, with {} tools", self.available_tools.len())
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
