//! `mcp-web admin` and the socket of the bridge, with the real program as the client.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use bridge::ServerHandle;
use bridge_output::CapturedLog;
use bridge_protocol::{BridgeToPage, ErrorCode};
use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::process::{Child, Command};

use crate::kit::operator::{self, Operator};
use crate::kit::*;

async fn start(operator: &Operator) -> ServerHandle {
    start_bridge_with(operator.config(test_config())).await
}

async fn status_of(url: &str, token: &str) -> u16 {
    let request = http_client().get(format!("{url}/tools")).bearer_auth(token);
    let response = with_deadline("response", request.send()).await.unwrap();
    response.status().as_u16()
}

/// Receives the reason why the page's session has ended, and the close code.
async fn recv_end(page: &mut Page) -> (ErrorCode, u16) {
    let closed = page.recv_matching(|message| match message {
        BridgeToPage::SessionClosed(closed) => Some(closed.code),
        _ => None,
    });
    let code = closed.await;
    (code, page.recv_close().await.0)
}

#[tokio::test]
async fn the_lists_show_what_there_is_and_nothing_that_authenticates() {
    let operator = Operator::new();
    let bridge = start(&operator).await;
    let (mut page, client) = connect_page_and_client(&bridge).await;
    let _other = Page::connect(&bridge, "t", OTHER_TOKEN).await;
    let call = client.start_request("tools/call", json!({ "name": "echo", "arguments": {} }));
    let list = async {
        let call = page.recv_call().await;
        let lists = [
            operator.list("users").await.0,
            operator.list("pages").await.0,
            operator.list("clients").await.0,
            operator.list("calls").await.0,
        ];
        page.respond(&call, json!({})).await;
        lists
    };
    let (_, [users, pages, clients, calls]) = tokio::join!(call, list);
    let realm = &pages.iter().find(|it| it["page"] == "s").unwrap()["realm"];
    let user = users.iter().find(|it| it["realm"] == *realm).unwrap();
    for (field, value) in [
        ("pages", 1),
        ("clients", 1),
        ("mcp_sessions", 1),
        ("calls", 1),
    ] {
        assert_eq!(user[field], value, "{user}");
    }
    assert_eq!(
        (users.len(), pages.len(), clients.len(), calls.len()),
        (2, 2, 1, 1)
    );
    assert_eq!(clients[0]["name"], CLIENT_NAME);
    assert_eq!(
        (&calls[0]["name"], &calls[0]["kind"]),
        (&json!("echo"), &json!("tool"))
    );
    assert_eq!(calls[0]["realm"], *realm);
    let text = json!([users, pages, clients, calls]).to_string();
    assert!(
        !text.contains(TOKEN) && !text.contains(&client.session),
        "{text}"
    );

    // The table of people, one page of a list, and one user.
    let table = operator.run("pages").await;
    assert!(
        table.starts_with("realm ") && table.contains("connected"),
        "{table}"
    );
    let (of_user, _) = operator
        .list(&format!("pages --realm {}", realm.as_str().unwrap()))
        .await;
    assert_eq!(of_user.len(), 1);
    let error = operator.error("users --subject ann").await;
    assert!(error.contains("no issuer"), "{error}");
}

#[tokio::test]
async fn the_operator_ends_a_call_a_client_a_page_and_a_user() {
    let operator = Operator::new();
    let bridge = start(&operator).await;
    let (mut page, client) = connect_page_and_client(&bridge).await;
    let call = client.call("echo", json!({}));
    let end = async {
        page.recv_call().await;
        let (calls, _) = operator.list("calls").await;
        let id = calls[0]["call"].as_str().unwrap();
        operator
            .run(&format!("end call {id} --reason too-long"))
            .await;
        let cancel = page.recv_call_cancel().await;
        assert_eq!(cancel.code, ErrorCode::CallCancelled);
    };
    let (answer, ()) = tokio::join!(call, end);
    let text = result_text(&answer["result"]);
    assert!(text.contains("the operator of the bridge"), "{answer}");
    assert!(text.contains("too-long"), "{answer}");

    let (clients, _) = operator.list("clients").await;
    let id = clients[0]["client"].as_str().unwrap().to_owned();
    operator.run(&format!("end client {id}")).await;
    // The state folder could restore the session, but it was ended.
    let response = client.start_request("ping", json!({})).await;
    assert_eq!(response.status(), 404);
    assert!(
        operator
            .error(&format!("end client {id}"))
            .await
            .contains("no MCP session")
    );

    operator.run("end page s").await;
    assert_eq!(recv_end(&mut page).await, (ErrorCode::AccessDenied, 1008));
    assert!(operator.error("end page s").await.contains("nothing fits"));
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let mut same_id = Page::connect(&bridge, "s", OTHER_TOKEN).await;
    let error = operator.error("end page s").await;
    assert!(error.contains("2 realms fit"), "{error}");

    let client = McpClient::connect(&bridge, TOKEN).await;
    let answer = operator.run_with("end user --token-stdin", TOKEN).await;
    assert!(answer.contains("pages 1, MCP sessions 1,"), "{answer}");
    assert_eq!(recv_end(&mut page).await, (ErrorCode::AccessDenied, 1008));
    assert_eq!(status_of(&bridge.url(), TOKEN).await, 200);
    let response = client.start_request("ping", json!({})).await;
    assert_eq!(response.status(), 404);
    assert!(same_id.renew(OTHER_TOKEN).await.is_ok());
}

#[tokio::test]
async fn a_denied_token_is_out_at_once_and_stays_out_after_a_restart() {
    let (log, _guard) = CapturedLog::start();
    let operator = Operator::new();
    let bridge = start(&operator).await;
    let (mut page, client) = connect_page_and_client(&bridge).await;
    let mut stream = client.listen().await;
    let call = client.start_request("tools/call", json!({ "name": "echo", "arguments": {} }));
    let deny = async {
        page.recv_call().await;
        operator
            .run_with("deny --token-stdin --reason stolen", &format!("{TOKEN}\n"))
            .await
    };
    let (_, answer) = tokio::join!(call, deny);
    assert!(
        answer.contains("pages 1, MCP sessions 1, calls 1"),
        "{answer}"
    );
    assert!(!answer.contains("restart"), "{answer}");
    page.read_forever().await;
    with_deadline("end of the stream", async {
        while stream.next().await.is_some() {}
    })
    .await;
    assert_eq!(status_of(&bridge.url(), TOKEN).await, 403);
    assert_eq!(status_of(&bridge.url(), OTHER_TOKEN).await, 200);
    assert_eq!(client.start_request("ping", json!({})).await.status(), 403);
    for mistake in [
        "deny another-token",
        "deny --realm another-token",
        "deny --realm 0123456789abcdef0123",
    ] {
        operator.error(mistake).await;
    }
    let text = log.text();
    let shows_token = text.contains("another-token") || text.contains("0123456789");
    assert!(!shows_token, "{text}");
    let line = text
        .lines()
        .find(|it| it.contains("action=\"deny\""))
        .unwrap();
    assert!(
        line.contains(" audit: ") && line.contains("reason=\"stolen\""),
        "{line}"
    );
    assert!(
        line.contains(" uid=") && line.contains("outcome=\"ok\""),
        "{line}"
    );
    assert!(!text.contains(TOKEN));

    bridge.shutdown().await;
    assert!(
        !operator.socket().exists(),
        "the socket ends with the bridge"
    );
    let bridge = start(&operator).await;
    assert_eq!(status_of(&bridge.url(), TOKEN).await, 403);
    let (denied, _) = operator.list("denied").await;
    let realm = denied[0]["realm"].as_str().unwrap();
    assert_eq!(realm.len(), 64);
    // The beginning of a hash names a realm that is not in use, because it is denied.
    operator
        .run(&format!("allow --realm {}", &realm[..8]))
        .await;
    assert_eq!(status_of(&bridge.url(), TOKEN).await, 200);
    bridge.shutdown().await;
    let bridge = start(&operator).await;
    assert_eq!(status_of(&bridge.url(), TOKEN).await, 200);
}

#[tokio::test]
async fn a_damaged_list_of_denials_prevents_a_start() {
    let operator = Operator::new();
    start(&operator).await.shutdown().await;
    std::fs::write(operator.state_folder().join("denied"), "{\n").unwrap();
    let error = start_error(operator.config(test_config()))
        .await
        .to_string();
    assert!(error.contains("line 1 of the file `denied`"), "{error}");
    let mut check = bridge_program();
    check.arg("--check-config").arg("--state-dir");
    let checked = check.arg(operator.state_folder()).output();
    let checked = with_deadline("check", checked).await.unwrap();
    assert_eq!(checked.status.code(), Some(2));
}

/// Pages come and go while the parts of a list are read. Those that stay are listed exactly once, and
/// calls continue.
#[tokio::test]
async fn the_parts_of_a_list_have_each_page_once_while_others_come_and_go() {
    const PAGES: usize = 40;
    let operator = Operator::new();
    let bridge = start(&operator).await;
    let token = |number: usize| format!("token-of-page-{number:04}");
    let pages = (0..PAGES).map(|number| {
        let (session, token, bridge) = (format!("page-{number}"), token(number), &bridge);
        async move { Page::connect(bridge, &session, &token).await }
    });
    let _pages = join_all(pages).await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let churn = async {
        for number in 0.. {
            let guest = Page::connect(&bridge, "guest", &token(PAGES + number % 10)).await;
            guest.close().await;
            assert_echo(&bridge, &mut page).await;
        }
    };
    let list = async {
        let (mut ids, mut after) = (Vec::new(), String::new());
        loop {
            let (rows, next) = operator.list(&format!("pages --limit 7{after}")).await;
            assert!(rows.len() <= 7);
            ids.extend(
                rows.iter()
                    .map(|it| it["page"].as_str().unwrap().to_owned()),
            );
            match next {
                Some(next) => after = format!(" --after {next}"),
                None => return ids,
            }
        }
    };
    let ids = tokio::select! {
        ids = list => ids,
        () = churn => unreachable!("it does not end"),
    };
    let staying: Vec<_> = ids.iter().filter(|id| *id != "guest").collect();
    let distinct: BTreeSet<_> = staying.iter().collect();
    assert_eq!((staying.len(), distinct.len()), (PAGES + 1, PAGES + 1));
}

/// The real program as the bridge.
async fn start_program(operator: &Operator) -> (Child, String) {
    let mut program = program(operator);
    let mut program = program.spawn().unwrap();
    let url = listening_url(&mut program).await;
    (program, url)
}

fn program(operator: &Operator) -> Command {
    let mut program = bridge_program();
    program.args(["--bind", "127.0.0.1:0", "--admin-socket"]);
    program.arg(operator.socket());
    program.stdout(Stdio::piped()).stderr(Stdio::piped());
    program
}

#[tokio::test]
async fn the_socket_is_private_replaces_that_of_a_dead_bridge_and_not_that_of_a_living_one() {
    let operator = Operator::new();
    let (mut bridge, _) = start_program(&operator).await;
    let mode = std::fs::metadata(operator.socket())
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let second = with_deadline("exit", program(&operator).output())
        .await
        .unwrap();
    // It may be free later.
    assert_eq!(second.status.code(), Some(75));
    let log = String::from_utf8(second.stderr).unwrap();
    assert!(
        log.contains("`admin_socket` cannot be used: another program listens"),
        "{log}"
    );
    assert_eq!(operator.run("users").await, "none\n");

    // Killed, it leaves its socket.
    bridge.kill().await.unwrap();
    assert!(operator.socket().exists());
    let error = operator.error("users").await;
    assert!(
        error.contains("the bridge of") && error.contains("has ended"),
        "{error}"
    );
    let (_bridge, _) = start_program(&operator).await;
    assert_eq!(operator.run("users").await, "none\n");
}

#[tokio::test]
async fn a_command_without_a_bridge_says_what_to_do() {
    let operator = Operator::new();
    let error = operator.error("users").await;
    assert!(error.contains("`admin_socket`"), "{error}");
    // The socket of the settings counts without a flag.
    let mut program = admin_program();
    program.env("MCP_WEB_ADMIN_SOCKET", operator.socket());
    let output = program.arg("users").output().await.unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("admin.sock"), "{error}");
    let output = admin_program().arg("users").output().await.unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("give --socket"), "{error}");
    let bridge = start(&operator).await;
    let output = operator::run(&operator.socket(), "deny", "").await;
    assert_eq!(output.status.code(), Some(2));
    let nothing = operator.run_with_input("deny --token-stdin", "\n").await;
    assert_eq!(nothing.status.code(), Some(1));
    bridge.shutdown().await;
}

/// The bridge answers others meanwhile, and each malformed request.
#[tokio::test]
async fn a_peer_that_sends_no_request_does_not_occupy_the_socket() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::UnixStream;
    let operator = Operator::new();
    let bridge = start(&operator).await;
    for text in ["{}\n", "\n", "GET / HTTP/1.1\r\n\r\n"] {
        let mut stream = UnixStream::connect(operator.socket()).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).await.unwrap();
        let reply: Value = serde_json::from_str(&reply).unwrap();
        let error = reply["error"].as_str().unwrap();
        assert!(error.contains("is not understood"), "{error}");
    }
    let silent = (0..5).map(|_| UnixStream::connect(operator.socket()));
    let silent: Vec<_> = join_all(silent)
        .await
        .into_iter()
        .map(Result::unwrap)
        .collect();
    assert_eq!(operator.run("users").await, "none\n");
    drop(silent);
    bridge.shutdown().await;
}

/// The token was valid when the head of the request arrived.
#[tokio::test]
async fn a_request_whose_body_arrives_after_a_denial_is_refused() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;
    const CONTINUE: &str = "HTTP/1.1 100 Continue\r\n\r\n";
    let operator = Operator::new();
    let bridge = start(&operator).await;
    let mut requests = Vec::new();
    for request in ["POST /mcp", "POST /tool-call", "PUT /query/q"] {
        let head = format!(
            "{request} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {TOKEN}\r\n\
             content-type: application/json\r\ncontent-length: 2\r\nconnection: close\r\n\
             expect: 100-continue\r\n\r\n"
        );
        let mut stream = TcpStream::connect(bridge.local_addr()).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        // It is sent when the bridge begins to read the body.
        let mut interim = [0; CONTINUE.len()];
        let read = with_deadline("100 Continue", stream.read_exact(&mut interim)).await;
        read.unwrap();
        assert_eq!(interim, CONTINUE.as_bytes());
        requests.push((request, stream));
    }
    operator.run_with("deny --token-stdin", TOKEN).await;
    for (request, mut stream) in requests {
        stream.write_all(b"{}").await.unwrap();
        let mut response = String::new();
        let read = with_deadline("response", stream.read_to_string(&mut response)).await;
        read.unwrap();
        let is_refused = response.starts_with("HTTP/1.1 403 ");
        assert!(is_refused, "{request}: {response}");
    }
}
