//! One agent of several bridges, and credentials that change while both run.

use std::path::{Path, PathBuf};

use agent::{BridgeEntry, Secret};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use crate::kit::*;

/// An agent of two bridges. Both have users with the same token.
struct TwoBridges {
    shop: bridge::ServerHandle,
    bank: bridge::ServerHandle,
    agent: agent::ServerHandle,
}

fn credential(bridge: &str) -> Secret {
    Secret::from_trusted(format!("credential-of-the-bridge-{bridge}"))
}

fn entry(name: &str) -> BridgeEntry {
    BridgeEntry {
        name: name.to_owned(),
        url: "127.0.0.1:9".parse().unwrap(),
        credential: Some(credential(name)),
        credential_file: None,
        allowed_origins: vec![format!("https://{name}.example")],
        max_queries: Some(1),
    }
}

impl TwoBridges {
    async fn start() -> Self {
        let mut bound = agent::bind(agent::Config {
            token: None,
            bridges: ["shop", "bank"].map(entry).into(),
            ..settings()
        })
        .await
        .unwrap();
        let settings = |name| bridge::Agent {
            agent_url: vec![bound.url().parse().unwrap()],
            agent_token: Some(credential(name)),
            ..bridge::Agent::default()
        };
        let shop = start_bridge(settings("shop")).await;
        let bank = start_bridge(settings("bank")).await;
        for (name, bridge) in [("shop", &shop), ("bank", &bank)] {
            bound.set_bridge_url(name, &bridge.url()).unwrap();
        }
        let agent = bound.serve_configured().unwrap();
        Self { shop, bank, agent }
    }

    async fn connect_pages(&self) -> [Page; 2] {
        [
            connect_page(&self.shop, TOKEN).await,
            connect_page(&self.bank, TOKEN).await,
        ]
    }

    fn request(&self, method: Method, path: &str, bridge: &str) -> RequestBuilder {
        let url = format!("http://{}{path}", self.agent.local_addr());
        let request = http_client().request(method, url);
        request.bearer_auth(credential(bridge).expose())
    }
}

fn query(uuid: &str, prompt: &str) -> Value {
    json!({ "type": "query", "uuid": uuid, "prompt": prompt, "context": [], "conversation": "c" })
}

/// Receives the final event of a query, and skips those before it.
async fn recv_end(page: &mut Page) -> Value {
    loop {
        let event = page.recv_type("query_").await;
        if !["query_accepted", "query_progress"].contains(&event["type"].as_str().unwrap()) {
            return event;
        }
    }
}

#[tokio::test]
async fn queries_of_two_bridges_with_equal_ids_and_users_do_not_mix() {
    let bed = TwoBridges::start().await;
    let mut pages = bed.connect_pages().await;
    let mut calls = Vec::new();
    // Both run at the same time, with the same id.
    for (page, title) in pages.iter_mut().zip(["of the shop", "of the bank"]) {
        let prompt = format!("/add_card {{\"title\": \"{title}\"}}");
        page.send_json(query(UUID, &prompt)).await;
        let call = page.recv_call().await;
        let arguments: Value = serde_json::from_str(call.tool_input.get()).unwrap();
        assert_eq!(arguments, json!({ "title": title }));
        calls.push(call);
    }
    // A bridge cancels only its own query.
    let path = format!("/query/{UUID}");
    let cancelled = bed.request(Method::DELETE, &path, "bank").send().await;
    assert_eq!(cancelled.unwrap().status(), 204);
    let [shop, bank] = &mut pages;
    let ended = recv_end(bank).await;
    assert_ne!(ended["type"], "query_complete", "{ended}");
    shop.respond(&calls[0], json!("added")).await;
    let ended = recv_end(shop).await;
    assert_eq!(ended["type"], "query_complete", "{ended}");
    assert_eq!(ended["toolCalls"][0]["result"], "added", "{ended}");
}

#[tokio::test]
async fn a_bridge_reads_only_the_conversations_of_its_users() {
    let bed = TwoBridges::start().await;
    let [mut shop, _bank] = bed.connect_pages().await;
    shop.send_json(query(UUID, "/add_card {}")).await;
    shop.serve_call(json!("added")).await;
    recv_end(&mut shop).await;
    // The bridge names the user by a hash of the token, which both would name alike.
    let list = |bridge: &bridge::ServerHandle| {
        let url = format!("{}/conversations/c", bridge.url());
        status_and_body(http_client().get(url).bearer_auth(TOKEN))
    };
    assert_eq!(list(&bed.shop).await.0, 200);
    assert_eq!(list(&bed.bank).await.0, 404);
}

#[tokio::test]
async fn a_bridge_has_its_share_of_the_queries() {
    let bed = TwoBridges::start().await;
    let [mut shop, mut bank] = bed.connect_pages().await;
    shop.send_json(query("first", "/add_card {}")).await;
    let call = shop.recv_call().await;
    shop.send_json(query("second", "/add_card {}")).await;
    let refused = loop {
        let event = shop.recv_type("query_failure").await;
        if event["uuid"] == "second" {
            break event;
        }
    };
    assert_eq!(refused["code"], "QueryLimitExceeded", "{refused}");
    bank.send_json(query("first", "/add_card {}")).await;
    bank.serve_call(json!(1)).await;
    assert_eq!(recv_end(&mut bank).await["type"], "query_complete");
    shop.respond(&call, json!(1)).await;
    assert_eq!(recv_end(&mut shop).await["type"], "query_complete");
}

#[tokio::test]
async fn a_frontend_is_asked_for_at_the_bridge_of_its_origin_only() {
    let bed = TwoBridges::start().await;
    let [_shop, mut bank] = bed.connect_pages().await;
    let request = |uuid: &str| {
        let request = put(&bed.agent, uuid, &prompt("/add_card {}"));
        streaming(request.bearer_auth(TOKEN))
    };
    let of_bank = request("1").header("origin", "https://bank.example");
    let events = EventStream::open(of_bank).await;
    bank.serve_call(json!("paid")).await;
    assert_eq!(events.last().await["type"], "query_complete");
    for origin in [None, Some("https://mall.example")] {
        let request = match origin {
            Some(origin) => request("2").header("origin", origin),
            None => request("2"),
        };
        let (status, refused) = status_and_body(request).await;
        assert_eq!(
            (status, &refused["code"]),
            (403, &json!("OriginNotAllowed")),
            "{origin:?}"
        );
        let message = refused["message"].as_str().unwrap();
        assert!(message.contains("allowed_origins"), "{message}");
    }
}

/// A bridge and an agent that read their credentials from files.
struct Rotation {
    folder: tempfile::TempDir,
    bridge: bridge::ServerHandle,
    agent: agent::ServerHandle,
    page: Page,
    queries: usize,
}

const OLD: &str = "the-old-credential-0123456789\n";
const NEW: &str = "the-new-credential-0123456789\n";

impl Rotation {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| -> PathBuf {
            let path = folder.path().join(name);
            std::fs::write(&path, OLD).unwrap();
            path
        };
        let bound = agent::bind(agent::Config {
            token: None,
            token_file: Some(file("agent")),
            ..settings()
        });
        let bound = bound.await.unwrap();
        let bridge = start_bridge(bridge::Agent {
            agent_url: vec![bound.url().parse().unwrap()],
            agent_token_file: Some(file("bridge")),
            ..bridge::Agent::default()
        });
        let bridge = bridge.await;
        Self {
            page: connect_page(&bridge, TOKEN).await,
            agent: bound.serve(&bridge.url()).unwrap(),
            bridge,
            folder,
            queries: 0,
        }
    }

    fn write(&self, name: &str, credentials: &str) {
        write_replacing(&self.folder.path().join(name), credentials);
    }

    /// Begins a query, changes something while it runs, and completes it.
    async fn query_during(&mut self, change: impl FnOnce(&Self)) {
        let uuid = format!("query-{}", self.queries);
        self.queries += 1;
        self.page.send_json(query(&uuid, "/add_card {}")).await;
        let call = self.page.recv_call().await;
        change(self);
        self.page.respond(&call, json!("added")).await;
        let ended = recv_end(&mut self.page).await;
        assert_eq!(ended["type"], "query_complete", "{uuid}: {ended}");
    }

    /// Returns the status of a request with a credential, without the token of a query.
    async fn status_with(&self, credential: &str) -> u16 {
        let request = put(&self.agent, UUID, &prompt("hello"));
        let request = request.header("mcp-web-query-token", "");
        status_and_body(request.bearer_auth(credential.trim()))
            .await
            .0
    }
}

/// Replaces a file at once, as programs do that manage secrets.
fn write_replacing(path: &Path, text: &str) {
    let temporary = path.with_extension("new");
    std::fs::write(&temporary, text).unwrap();
    std::fs::rename(&temporary, path).unwrap();
}

#[tokio::test]
async fn a_credential_is_replaced_without_a_failed_query() {
    let mut bed = Rotation::start().await;
    bed.query_during(|bed| {
        bed.write("agent", &format!("# in turn\n{OLD}{NEW}"));
        bed.agent.reload_credentials().unwrap();
    })
    .await;
    bed.query_during(|bed| {
        bed.write("bridge", NEW);
        bed.bridge.reload_agent_credential().unwrap();
    })
    .await;
    bed.query_during(|bed| {
        bed.write("agent", NEW);
        bed.agent.reload_credentials().unwrap();
    })
    .await;
    bed.query_during(|_| {}).await;
    // 400: the credential is valid, and the token of the query is missing.
    assert_eq!(bed.status_with(OLD).await, 401);
    assert_eq!(bed.status_with(NEW).await, 400);
}

#[tokio::test]
async fn a_file_that_cannot_be_used_leaves_the_former_credential_valid() {
    let mut bed = Rotation::start().await;
    for unusable in ["", "short", "with spaces in the credential"] {
        bed.query_during(|bed| {
            for name in ["agent", "bridge"] {
                bed.write(name, unusable);
            }
            let error = bed.agent.reload_credentials().unwrap_err().to_string();
            assert!(error.contains("`token_file`"), "{error}");
            let error = bed.bridge.reload_agent_credential().unwrap_err();
            assert!(error.to_string().contains("bridge"), "{error}");
        })
        .await;
    }
    bed.query_during(|_| {}).await;
}

#[tokio::test]
async fn the_agent_reads_a_file_that_has_changed() {
    let bed = Rotation::start().await;
    bed.write("agent", NEW);
    let accepted = async {
        while bed.status_with(NEW).await != 400 {
            raw_page::poll_pause().await;
        }
    };
    with_deadline("new credential", accepted).await;
    assert_eq!(bed.status_with(OLD).await, 401);
}
