//! Bridges that a person starts at an address that is in use.

use std::process::Stdio;

use raw_page::{Page, with_deadline};
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::process::{Child, Command};

use crate::kit::*;
use crate::started_bridge::{User, is_online, signal, wait_for_end};
use crate::stdio_client::StdioClient;

impl User {
    fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// A client whose bridge does not end with it.
    async fn lasting_client(&self) -> StdioClient {
        let mut command = self.stdio();
        command.env("MCP_WEB_BRIDGE_IDLE_TIMEOUT", "10m");
        let mut client = StdioClient::start_with(command);
        assert!(is_online(&client.initialize().await));
        client
    }

    async fn page(&self) -> Page {
        let mut page = Page::connect_to(self.address(), "tab", TOKEN).await;
        page.register(&[add_card()]).await;
        page
    }

    /// A command of the person, at the address of the client's bridge.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = program(arguments);
        command
            .args(["--bind", &self.address()])
            .env("HOME", self.home.path());
        command
    }

    /// Starts a bridge that takes the address.
    async fn start_bridge(&self) -> Child {
        start(self.command(&["bridge"]), "listening on ").await.0
    }

    /// Checks that a command ends because the address is in use. Returns its last line.
    async fn assert_refused(&self, arguments: &[&str]) -> String {
        let ended = run(self.command(arguments)).await;
        assert_eq!(ended.code, Some(75), "{ended:?}");
        let line = ended.stderr.lines().last().unwrap();
        assert!(line.contains("in use"), "{ended:?}");
        line.to_owned()
    }

    async fn end(&self, bridge: u32) {
        signal(bridge, Signal::TERM);
        wait_for_end(bridge).await;
        assert!(self.bridges().is_empty());
    }
}

fn call_add_card() -> Value {
    json!({ "name": "add_card", "arguments": { "title": "milk" } })
}

#[tokio::test]
async fn the_demo_takes_the_address_and_the_client_continues_with_its_page() {
    let user = User::new();
    let mut client = user.lasting_client().await;
    let started = user.bridge();
    let mut page = user.page().await;

    let mut demo = user.command(&["demo", "--agent-provider", "commands"]);
    let calling = client.request("tools/call", call_add_card());
    let taking = async {
        let call = page.recv_call().await;
        let mut demo = demo.spawn().unwrap();
        let log = demo.stderr.take().unwrap();
        let line = wait_for_text(log, "ends for this one").await;
        assert!(line.contains("`mcp-web stdio`"), "{line}");
        // The bridge waits for this call.
        assert_eq!(user.bridge(), started);
        page.respond(&call, json!({ "id": 1 })).await;
        demo
    };
    let (called, mut demo) = tokio::join!(calling, taking);
    assert_eq!(called["structuredContent"]["id"], 1, "{called}");
    let opened = format!("open http://localhost:{}/", user.port);
    wait_for_line(demo.stdout.take().unwrap(), &opened).await;
    wait_for_end(started).await;

    // As the SDK does.
    let mut page = user.page().await;
    let calling = client.request("tools/call", call_add_card());
    let (called, _) = tokio::join!(calling, page.serve_call(json!({ "id": 2 })));
    assert_eq!(called["structuredContent"]["id"], 2, "{called}");
    assert!(user.bridges().is_empty());
    client.close().await;
    stop(demo).await;
}

#[tokio::test]
async fn clients_that_start_meanwhile_use_the_bridge_of_the_person() {
    let user = User::new();
    let client = user.lasting_client().await;
    let started = user.bridge();
    client.close().await;
    let mut clients = [user.client(), user.client(), user.client()];
    let [one, two, three] = &mut clients;
    let (bridge, ..) = tokio::join!(
        user.start_bridge(),
        one.initialize(),
        two.initialize(),
        three.initialize()
    );
    wait_for_end(started).await;
    let page = user.page().await;
    for mut client in clients {
        // One whose handshake the former bridge has cut off connects again in the background.
        let connecting =
            async { while !client.list_tools().await.to_string().contains("add_card") {} };
        with_deadline("the tools of the page", connecting).await;
        client.close().await;
    }
    assert!(user.bridges().is_empty());
    page.close().await;
    stop(bridge).await;
}

#[tokio::test]
async fn the_bridge_of_a_person_keeps_its_address_and_is_named() {
    let user = User::new();
    let bridge = user.start_bridge().await;
    for command in ["bridge", "demo"] {
        let line = user.assert_refused(&[command]).await;
        let holder = format!("by mcp-web (process {})", bridge.id().unwrap());
        assert!(
            line.contains(&holder) && line.contains("`bind`"),
            "{holder}: {line}"
        );
    }
    assert!(is_online(&user.client().initialize().await));
    stop(bridge).await;
}

#[tokio::test]
async fn the_bridge_of_another_user_keeps_its_address() {
    let user = User::new();
    let client = user.lasting_client().await;
    let started = user.bridge();
    let other = User::with_port(user.port);
    other.assert_refused(&["bridge"]).await;
    // Of the same user, but it does not know the secret.
    let url = format!("http://{}/started-bridge/a", user.address());
    let proof = get(&url, "*/*").await;
    let digits = proof.split(' ').nth(1).unwrap().to_owned();
    for request in [String::new(), proof, digits] {
        let sending = reqwest::Client::new().post(&url).body(request).send();
        let response = with_deadline("response", sending).await.unwrap();
        assert_eq!(response.status(), 403);
    }
    assert_eq!(user.bridge(), started);
    client.close().await;
    user.end(started).await;
}

#[tokio::test]
async fn a_bridge_with_wrong_settings_ends_no_other_one() {
    let user = User::new();
    let client = user.lasting_client().await;
    let started = user.bridge();
    let ended = run(user.command(&["bridge", "--tokens", "short"])).await;
    assert_eq!(ended.code, Some(2), "{ended:?}");
    let checked = run(user.command(&["bridge", "--check-config"])).await;
    assert_eq!(checked.code, Some(0), "{checked:?}");
    assert_eq!(user.bridge(), started);
    client.close().await;
    user.end(started).await;
}

#[tokio::test]
async fn a_start_that_waits_for_a_call_can_be_interrupted() {
    let user = User::new();
    // It may start another bridge, which ends soon after it.
    let mut client = user.client();
    assert!(is_online(&client.initialize().await));
    let started = user.bridge();
    let mut page = user.page().await;
    let mut command = user.command(&["bridge"]);
    let calling = client.request("tools/call", call_add_card());
    let interrupting = async {
        let call = page.recv_call().await;
        let mut bridge = command.stdout(Stdio::null()).spawn().unwrap();
        wait_for_text(bridge.stderr.take().unwrap(), "ends for this one").await;
        signal(bridge.id().unwrap(), Signal::INT);
        let ended = with_deadline("end of the bridge", bridge.wait()).await;
        assert!(ended.unwrap().success());
        page.respond(&call, json!({ "id": 1 })).await;
    };
    let (called, ()) = tokio::join!(calling, interrupting);
    assert_eq!(called["structuredContent"]["id"], 1, "{called}");
    wait_for_end(started).await;
    client.close().await;
}
