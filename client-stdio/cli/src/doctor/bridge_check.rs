//! The checks of the bridge: who answers at the address, and whether the version fits.

use std::time::Duration;

use client_stdio::{AddressHolder, Config, LocalBridgeError, Url};
use futures_util::future::join_all;

use crate::started_bridge::{self, BridgeStarter, Holder};

use super::finding::Finding;
use super::version::{OWN_VERSION, fits, is_older};
use crate::port_users::{command_for, port_users, ports_of_program};

const SUBJECT: &str = "bridge";

/// A route that only the bridges of `mcp-web stdio` have.
fn route() -> String {
    format!("{}/doctor", started_bridge::COMMAND)
}

/// Checks the bridge. Returns the findings, and its version if it may be asked for more.
pub(super) async fn check(config: &Config) -> (Vec<Finding>, Option<String>) {
    let url = &config.url;
    let port = url.port_or_known_default().unwrap_or_default();
    let is_local = config.is_local();
    match AddressHolder::find(url, &route()).await {
        AddressHolder::Nothing => {
            let others = if is_local {
                other_bridges(url).await
            } else {
                Vec::new()
            };
            (vec![nothing_answers(url.as_str(), &others)], None)
        }
        AddressHolder::OtherProgram(reason) => {
            let text =
                format!("another program answers at {url}, which is not a bridge ({reason})");
            let remedy = "end that program, or start a bridge at another port with `mcp-web bridge \
                          --bind 127.0.0.1:PORT` and name it with --url";
            let mut findings = vec![Finding::problem(SUBJECT, text, remedy)];
            findings.extend(is_local.then(|| port_finding(port)));
            (findings, None)
        }
        AddressHolder::Bridge { version, .. } => {
            let mut findings = vec![version_finding(url.as_str(), &version)];
            let mut may_get_token = true;
            if is_local {
                let starter = BridgeStarter::new(url.clone(), port, Duration::ZERO);
                match starter.holder().await {
                    Ok(Holder::Started) => {
                        let text = "`mcp-web stdio` has started it, and it ends after the last client \
                                    and page, or for one that you start";
                        findings.push(Finding::ok(SUBJECT, text));
                    }
                    Err(LocalBridgeError::Failed(reason)) => {
                        may_get_token = false;
                        let remedy = "then run `mcp-web doctor` again";
                        findings.push(Finding::problem(SUBJECT, reason, remedy));
                    }
                    _ => {}
                }
                findings.push(port_finding(port));
            }
            (findings, may_get_token.then_some(version))
        }
    }
}

fn nothing_answers(url: &str, others: &[String]) -> Finding {
    let text = format!("nothing answers at {url}");
    match others {
        [] => {
            let remedy = "start a bridge with `mcp-web demo` or `mcp-web bridge`, or name another with --url";
            Finding::problem(SUBJECT, text, remedy)
        }
        others => {
            let others = others.join(" and ");
            let text = format!("{text}, but a bridge runs at another port: {others}");
            let remedy = "name it with --url, and in AI clients with `mcp-web install --url`, or start it \
                          at the expected port with `--bind`";
            Finding::problem(SUBJECT, text, remedy)
        }
    }
}

fn version_finding(url: &str, version: &str) -> Finding {
    if fits(version, OWN_VERSION) {
        return Finding::ok(SUBJECT, format!("version {version} answers at {url}"));
    }
    let text = format!(
        "the bridge at {url} has version {version}, and this program {OWN_VERSION}, which do not fit"
    );
    let remedy = if is_older(version, OWN_VERSION) {
        "end the bridge and start it again with this version"
    } else {
        "update this program, or start the bridge with the older version again"
    };
    Finding::problem(SUBJECT, text, remedy)
}

/// Describes which processes have the port.
fn port_finding(port: u16) -> Finding {
    let users = port_users(port).unwrap_or_else(|| command_for(port));
    Finding::ok(format!("port {port}"), users)
}

/// Returns the URLs of bridges of this user at other ports.
async fn other_bridges(url: &Url) -> Vec<String> {
    // One that does not answer must not delay the others.
    let asked = ports_of_program().into_iter().map(async |port| {
        let mut other = url.clone();
        other.set_port(Some(port)).ok()?;
        let holder = AddressHolder::find(&other, &route()).await;
        matches!(holder, AddressHolder::Bridge { .. }).then(|| other.to_string())
    });
    join_all(asked).await.into_iter().flatten().collect()
}
