//! The program: its output, its settings, and why it does not start.

use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::kit::*;

#[cfg(unix)]
mod running;

fn scripted_program() -> Command {
    let mut program = agent_program();
    program
        .args(["--provider", "commands", "--bind", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    program
}

/// Reads the URL that the program prints when it listens.
async fn listening_url(child: &mut Child) -> String {
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = with_deadline("line of output", lines.next_line())
        .await
        .unwrap()
        .unwrap();
    line.strip_prefix("listening on ").unwrap().to_owned()
}

/// Runs a program that must not start, and returns its stderr.
async fn startup_error(program: &mut Command) -> String {
    let output = with_deadline("end", program.output()).await.unwrap();
    assert_eq!(output.status.code(), Some(2));
    String::from_utf8(output.stderr).unwrap()
}

#[tokio::test]
async fn the_program_prints_its_url_and_stops_on_a_signal() {
    let mut child = scripted_program()
        .env("MCP_WEB_AGENT_TOKEN", CREDENTIAL)
        .spawn()
        .unwrap();
    let url = listening_url(&mut child).await;
    let health = url.replace("/query", "/healthz");
    let (status, health) = status_and_body(http_client().get(health)).await;
    assert_eq!(
        (status, health),
        (200, json!({ "status": "ok", "queries": 0 }))
    );
    let id = child.id().unwrap().to_string();
    let kill = Command::new("kill").args(["-TERM", &id]).status();
    assert!(kill.await.unwrap().success());
    let output = with_deadline("end", child.wait_with_output())
        .await
        .unwrap();
    assert!(output.status.success());
    let log = String::from_utf8(output.stderr).unwrap();
    assert!(log.contains("commands (no language model)"), "{log}");
}

#[tokio::test]
async fn the_program_stops_at_the_end_of_stdin_if_configured() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.toml");
    std::fs::write(&path, "until_stdin_ends = true").unwrap();
    let mut child = scripted_program()
        .env("MCP_WEB_AGENT_TOKEN", CREDENTIAL)
        .env("MCP_WEB_AGENT_CONFIG", &path)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    listening_url(&mut child).await;
    assert!(child.try_wait().unwrap().is_none(), "stdin is still open");
    drop(child.stdin.take());
    assert!(with_deadline("end", child.wait()).await.unwrap().success());

    // Without that setting it keeps running, although its stdin is at its end from the start.
    let mut child = scripted_program()
        .env("MCP_WEB_AGENT_TOKEN", CREDENTIAL)
        .spawn()
        .unwrap();
    let health = listening_url(&mut child)
        .await
        .replace("/query", "/healthz");
    assert_eq!(status_and_body(http_client().get(health)).await.0, 200);
}

#[tokio::test]
async fn the_program_shares_a_credential_file_of_the_user_by_default() {
    let home = tempfile::tempdir().unwrap();
    let mut child = scripted_program().env("HOME", home.path()).spawn().unwrap();
    let url = listening_url(&mut child).await;
    let file = home.path().join(".config/mcp-web/agent-token");
    let credential = std::fs::read_to_string(file).unwrap();
    let request = http_client().put(&url).json(&prompt("hello"));
    let (status, _) = status_and_body(request.bearer_auth(credential.trim())).await;
    assert_eq!(
        status, 400,
        "the credential is accepted, and the token of the query is missing"
    );

    let without_home = startup_error(&mut scripted_program()).await;
    assert!(
        without_home.contains("MCP_WEB_AGENT_TOKEN"),
        "{without_home}"
    );
}

#[tokio::test]
async fn without_a_model_the_error_names_the_options() {
    let error = startup_error(agent_program().env("MCP_WEB_AGENT_TOKEN", CREDENTIAL)).await;
    for part in [
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
        "GEMINI_API_KEY",
        "--base-url",
        "ollama",
        "--provider commands",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
}

#[tokio::test]
async fn an_open_address_needs_a_configured_credential() {
    let home = tempfile::tempdir().unwrap();
    let mut open = agent_program();
    open.args(["--provider", "commands", "--bind", "0.0.0.0:0"]);
    open.env("HOME", home.path());
    let error = startup_error(&mut open).await;
    assert!(
        error.contains("MCP_WEB_AGENT_TOKEN") && error.contains("agent_token"),
        "{error}"
    );
    let with_credential = agent::Config {
        bind: ([0, 0, 0, 0], 0).into(),
        ..settings()
    };
    agent::bind(with_credential).await.unwrap();
}

#[tokio::test]
async fn an_invalid_setting_is_named_in_the_error() {
    for ((name, value), part) in [
        (("MCP_WEB_AGENT_MAX_ROUNDS", "0"), "--max-rounds"),
        (("MCP_WEB_AGENT_QUERY_TIMEOUT", "soon"), "250ms"),
        (("MCP_WEB_AGENT_ALLOWED_ORIGINS", "app"), "allowed_origins"),
        (("MCP_WEB_AGENT_ALLOWED_HOSTS", "a b"), "allowed_hosts"),
        (("MCP_WEB_AGENT_BRIDGE_URL", "ftp://a"), "--bridge-url"),
        (("MCP_WEB_AGENT_TOKEN", "hush hush"), "not shown"),
        (("MCP_WEB_AGENT_TOKEN", "hush"), "16"),
        (("MCP_WEB_AGENT_CONFIG", "/no/such.toml"), "cannot be read"),
    ] {
        let mut program = scripted_program();
        program.env("MCP_WEB_AGENT_TOKEN", CREDENTIAL);
        let error = startup_error(program.env(name, value)).await;
        assert!(
            error.contains(part) && !error.contains("hush"),
            "{name}={value}: {error}"
        );
    }
    let bound = agent::bind(settings()).await.unwrap();
    let conflicting = agent::Config {
        bind: bound.local_addr(),
        ..settings()
    };
    let error = agent::bind(conflicting).await.unwrap_err().to_string();
    assert!(error.contains(&bound.local_addr().to_string()), "{error}");
}

#[tokio::test]
async fn a_configuration_file_is_used_where_no_flag_or_variable_is_set() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.toml");
    let write = |text: &str| std::fs::write(&path, text).unwrap();
    let with_file = || {
        let mut program = agent_program();
        program
            .arg("--config")
            .arg(&path)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        program
    };
    write(&format!(
        "provider = \"commands\"\nbind = \"127.0.0.1:0\"\ntoken = \"{CREDENTIAL}\"\n\
         max_queries = 3\nquery_timeout = \"2m\"\nallowed_hosts = [\"loopback\", \"a.example\"]\n\
         max_body_bytes = 100\n"
    ));
    let mut child = with_file()
        .env("MCP_WEB_AGENT_MAX_BODY_BYTES", "50")
        .spawn()
        .unwrap();
    let url = listening_url(&mut child).await;
    let request = as_bridge(http_client().put(&url).header("host", "a.example"));
    let (status, refused) = status_and_body(request.json(&prompt(&"x".repeat(60)))).await;
    assert_eq!(status, 413);
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains("more than 50 bytes"), "{message}");
    for (text, parts) in [
        ("\nmax_querys = 3", [":2: ", "nearest one is `max_queries`"]),
        ("max_queries = 0", [":1: `max_queries`", "from 1 up"]),
        ("bind = 5", [":1: `bind`", "a text in quotes"]),
        ("bind = \"5\"", [":1: `bind`", "ADDR:PORT"]),
        ("token_file = 5", [":1: `token_file`", "a text in quotes"]),
        (
            "thinking = \"much\"",
            ["`thinking`", "off, low, medium, high"],
        ),
        ("query_timeout = 5", ["`query_timeout`", "250ms"]),
        (
            "temperature = 2.5",
            ["`temperature` cannot be 2.5", "numbers from 0 to 2"],
        ),
        (
            "temperature = true",
            ["`temperature` cannot be of type", "allowed are numbers"],
        ),
        (
            "until_stdin_ends = \"yes\"",
            ["`until_stdin_ends`", "true and false"],
        ),
        ("token = \"hush hush\"", ["`token`", "visible ASCII"]),
        ("token = \"hush", [":1: this is not TOML", ""]),
        (
            "[agent]\nbind = \"a\"",
            ["`agent` is not a setting", "tables are [[bridges]]"],
        ),
        (
            "[[bridges]]\nname = \"a\"\nurl = \"a\"",
            [":1: ", "`credential_file`"],
        ),
    ] {
        write(text);
        let error = startup_error(&mut with_file()).await;
        for part in parts {
            assert!(error.contains(part), "{text:?}: {error}");
        }
        assert!(!error.contains("hush"), "{error}");
    }
}

#[tokio::test]
async fn bridges_of_the_file_are_served_and_printed_without_their_credentials() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.toml");
    let secrets = ["hush-hush-of-the-shop", "hush-hush-of-the-bank"];
    std::fs::write(folder.path().join("bank"), secrets[1]).unwrap();
    let text = format!(
        "[[bridges]]\nname = 'shop'\nurl = 'shop.example'\ncredential = '{}'\n\
         [[bridges]]\nname = 'bank'\nurl = 'bank.example'\ncredential_file = '{}'\n",
        secrets[0],
        folder.path().join("bank").display()
    );
    std::fs::write(&path, text).unwrap();
    let with_file = || {
        let mut program = scripted_program();
        program.arg("--config").arg(&path);
        program
    };
    let mut child = with_file().spawn().unwrap();
    let url = listening_url(&mut child).await;
    for (credential, expected) in [(secrets[0], 400), (secrets[1], 400), (CREDENTIAL, 403)] {
        let request = http_client().put(&url).json(&prompt("hello"));
        let (status, body) = status_and_body(request.bearer_auth(credential)).await;
        assert_eq!(status, expected, "{body}");
    }
    for argument in ["--print-config", "--check-config"] {
        let output = with_file().arg(argument).output().await.unwrap();
        assert!(output.status.success(), "{argument}");
        let printed = String::from_utf8(output.stdout).unwrap();
        assert!(printed.contains("http://bank.example/"), "{printed}");
        assert!(!printed.contains("hush"), "{printed}");
    }
    let beside = startup_error(with_file().env("MCP_WEB_AGENT_TOKEN", CREDENTIAL)).await;
    assert!(
        beside.contains("`token` is set beside [[bridges]]"),
        "{beside}"
    );
}

#[tokio::test]
async fn no_log_shows_a_key_or_a_token() {
    let key = "sk-hush-hush-0123456789";
    let mut child = scripted_program()
        .args(["--log", "trace"])
        .env("MCP_WEB_AGENT_TOKEN", CREDENTIAL)
        .env("ANTHROPIC_API_KEY", key)
        .spawn()
        .unwrap();
    let url = listening_url(&mut child).await;
    let request = as_bridge(http_client().put(&url)).json(&prompt("a-secret-of-the-page"));
    let last = EventStream::open(streaming(request)).await.last().await;
    assert_eq!(last["type"], "query_failure", "{last}");
    let request = http_client()
        .put(&url)
        .bearer_auth(TOKEN)
        .json(&prompt("hello"));
    let (_, refused) = status_and_body(streaming(request)).await;
    let log = end_and_read_log(child).await;
    assert!(log.contains("a query has ended"), "{log}");
    for text in [log, last.to_string(), refused.to_string()] {
        for secret in [key, CREDENTIAL, TOKEN, "mcp-web-query-of", "a-secret-of"] {
            assert!(!text.contains(secret), "{secret}: {text}");
        }
    }
}

/// Starts a provider that refuses every request and quotes the last message, and returns its URL.
async fn start_quoting_provider() -> String {
    let refuse = |axum::Json(request): axum::Json<Value>| async move {
        let last = request["messages"].as_array().unwrap().last().unwrap();
        let prompt = last["content"].as_str().unwrap();
        let message = format!("cannot read {:?}", &prompt[prompt.len() - 30..]);
        let error =
            json!({ "message": message, "type": "invalid_request_error", "code": "swordfish" });
        let body = axum::Json(json!({ "error": error }));
        (axum::http::StatusCode::BAD_REQUEST, body)
    };
    let router = axum::Router::new().fallback(refuse);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    url
}

#[tokio::test]
async fn users_and_the_log_below_debug_do_not_read_the_words_of_the_provider() {
    let provider = start_quoting_provider().await;
    let bed = TestBed::start().await;
    let _page = bed.connect_page().await;
    for (level, quotes) in [("info", false), ("debug", true)] {
        let mut program = agent_program();
        program.args(["--provider", "openai", "--model", "m", "--log", level]);
        program.args(["--bind", "127.0.0.1:0", "--base-url", &provider]);
        program.args(["--bridge-url", &bed.bridge.url()]);
        program.env("MCP_WEB_AGENT_TOKEN", CREDENTIAL);
        program.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = program.spawn().unwrap();
        let url = listening_url(&mut child).await;
        let request = http_client().put(&url).bearer_auth(TOKEN);
        let request = request.json(&prompt("the word that nobody may read is swordfish"));
        let last = EventStream::open(streaming(request)).await.last().await;
        assert_eq!(last["code"], "ModelRequestRefused", "{last}");
        assert!(!last.to_string().contains("swordfish"), "{last}");
        let log = end_and_read_log(child).await;
        for part in ["ModelRequestRefused", "HTTP 400", "invalid_request_error"] {
            assert!(log.contains(part), "{part}: {log}");
        }
        assert_eq!(log.contains("swordfish"), quotes, "{log}");
    }
}

#[tokio::test]
async fn the_printed_configuration_is_a_file_with_the_same_settings() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.toml");
    let print_config = async |program: &mut Command| {
        let output = with_deadline("end", program.arg("--print-config").output()).await;
        let output = output.unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    };
    let mut first = agent_program();
    first
        .args(["--provider", "commands", "--max-rounds", "3"])
        .args(["--temperature", "0.50", "--system", "Cards\nare tasks."])
        .env("MCP_WEB_AGENT_TOKEN", CREDENTIAL)
        .env(
            "MCP_WEB_AGENT_ALLOWED_ORIGINS",
            "loopback,https://a.example",
        );
    let first = print_config(&mut first).await;
    for line in [
        "max_rounds = 3 # from --max-rounds",
        "temperature = 0.5 # from --temperature",
        "allowed_origins = [\"loopback\", \"https://a.example\"] # from MCP_WEB_AGENT_ALLOWED_ORIGINS",
        "# token is set and not shown, from MCP_WEB_AGENT_TOKEN",
        "# model is not set",
        "query_timeout = \"10m\"",
    ] {
        assert!(first.lines().any(|it| it == line), "{line}: {first}");
    }
    std::fs::write(&path, &first).unwrap();
    let second = print_config(agent_program().arg("--config").arg(&path)).await;
    let values = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        lines
            .map(|line| line.split(" # ").next().unwrap().to_owned())
            .collect()
    };
    assert_eq!(values(&first), values(&second));
}

/// Ends a program as its operator does, so that its log is complete, and returns the log.
async fn end_and_read_log(child: Child) -> String {
    let process = child.id().unwrap().to_string();
    let ended = Command::new("kill").arg(process).status().await;
    assert!(ended.unwrap().success());
    let output = with_deadline("end of the program", child.wait_with_output()).await;
    String::from_utf8(output.unwrap().stderr).unwrap()
}

/// Returns what a program logs until it listens.
async fn startup_log(program: &mut Command) -> String {
    program.env("MCP_WEB_AGENT_TOKEN", CREDENTIAL);
    let mut child = program.spawn().unwrap();
    listening_url(&mut child).await;
    end_and_read_log(child).await
}

#[tokio::test]
async fn tokens_over_http_to_a_bridge_on_another_machine_are_a_warning() {
    for (url, warns) in [
        ("http://192.0.2.1:3001", true),
        ("https://192.0.2.1", false),
        ("http://127.0.0.1:3001", false),
    ] {
        let log = startup_log(scripted_program().args(["--bridge-url", url])).await;
        let warning = log.contains("URL of the bridge `default`") && log.contains("use https://");
        assert_eq!(warning, warns, "{url}: {log}");
    }
}

#[tokio::test]
async fn the_system_prompt_is_printed_with_the_text_of_the_operator() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("system.txt");
    std::fs::write(&path, "Cards are tasks.\n").unwrap();
    let mut printing = agent_program();
    printing
        .args(["--print-prompt", "--system-file"])
        .arg(&path);
    let output = with_deadline("end", printing.output()).await.unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("You work inside a web app"), "{text}");
    assert!(text.ends_with("\n\nCards are tasks.\n"), "{text}");
}

#[tokio::test]
async fn a_system_text_that_is_too_long_or_unreadable_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("system.txt");
    let start = || {
        let mut program = scripted_program();
        program.env("MCP_WEB_AGENT_TOKEN", CREDENTIAL);
        program.arg("--system-file").arg(&path);
        program
    };
    let error = startup_error(&mut start()).await;
    assert!(error.contains("system.txt cannot be read"), "{error}");
    std::fs::write(&path, "x".repeat(64 * 1024 + 1)).unwrap();
    let error = startup_error(&mut start()).await;
    assert!(error.contains("65537 bytes, and at most 65536"), "{error}");
    std::fs::write(&path, "x".repeat(64 * 1024)).unwrap();
    let error = startup_error(start().args(["--system", "Twice"])).await;
    assert!(error.contains("set one of them"), "{error}");
    let mut child = start().spawn().unwrap();
    listening_url(&mut child).await;
}

#[cfg(unix)]
#[tokio::test]
async fn conversations_that_other_users_can_read_are_a_warning() {
    use std::fs::{Permissions, set_permissions, write};
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("conversations.db");
    write(&path, "").unwrap();
    for (mode, warns) in [(0o644, true), (0o600, false)] {
        set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        let mut program = scripted_program();
        let log = startup_log(program.arg("--conversations-file").arg(&path)).await;
        assert_eq!(log.contains("chmod 600"), warns, "{mode:o}: {log}");
    }
}

#[tokio::test]
async fn a_configuration_is_checked_without_a_start() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let check = async || {
        let mut checking = agent_program();
        checking
            .current_dir(folder.path())
            .args(["--provider", "commands", "--check-config"])
            .args(["--tools-file", "tools.toml", "--audit-file", "audit.jsonl"]);
        let output = with_deadline("end", checking.output()).await.unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (
            output.status.code().unwrap(),
            text(output.stdout),
            text(output.stderr),
        )
    };
    let (code, stdout, stderr) = check().await;
    assert_eq!((code, stdout.as_str()), (2, ""));
    assert!(
        stderr.contains("tools.toml: the file cannot be read"),
        "{stderr}"
    );

    let tools = "[sources.notes]\ntype = 'filesystem'\nroots = { notes = '.' }\nread_only = true\n\n\
                 [mcp]\nfile = 'mcp-servers.json'\n\n[profiles.staff]\nroles = ['staff']\n\
                 allow = ['notes-*', 'note-*']\ngrant = ['read']\n";
    write("tools.toml", tools);
    let (code, _, stderr) = check().await;
    assert_eq!(code, 2);
    assert!(
        stderr.contains("mcp-servers.json add NAME COMMAND`"),
        "{stderr}"
    );

    write("mcp-servers.json", "{\"mcpServers\": {}} // none yet");
    let (code, stdout, stderr) = check().await;
    assert_eq!(code, 0, "{stderr}");
    for line in [
        "configuration is good",
        "model: commands",
        "source notes: filesystem, 2 tools",
        "profile staff: for signed tokens, with roles [\"staff\"]",
        "  notes-read_file: read",
    ] {
        assert!(
            stdout.lines().any(|it| it.starts_with(line)),
            "{line}: {stdout}"
        );
    }
    assert!(
        stderr.contains("has `note-*` in `allow`, which matches no tool"),
        "{stderr}"
    );

    let missing = r#"{"mcpServers": {"mail": {"command": "a", "env": {"KEY": "${NO_SUCH_KEY}"}}}}"#;
    write("mcp-servers.json", missing);
    let (code, stdout, _) = check().await;
    assert_eq!(code, 1);
    assert!(
        stdout.starts_with("the agent can start, but 1 source cannot be used"),
        "{stdout}"
    );
    assert!(
        stdout.contains("source mcp-mail: off: ") && stdout.contains("`NO_SUCH_KEY`"),
        "{stdout}"
    );
    assert!(!folder.path().join("audit.jsonl").exists());

    write(
        "tools.toml",
        &tools.replace("read_only = true", "read_only = 'yes'"),
    );
    let (code, _, stderr) = check().await;
    assert_eq!(code, 2);
    let expected = "tools.toml:4: the source `notes`: `read_only`: it must be true or false";
    assert!(stderr.contains(expected), "{stderr}");
}
