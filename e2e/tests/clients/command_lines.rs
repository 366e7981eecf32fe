//! AI clients with a command line, and a mock provider as their model.

use std::path::PathBuf;
use std::time::Duration;

use e2e::{
    BridgeEndpoint, ClientRow, ClientStep, ClientTier, ClientsApp, CommandLine, CommandLineRun,
    Format, MockProvider, RestartedBridge, RollingDeploy, Script, StepResult, ToolOutput, Turn,
    program_paths,
};
use serde_json::{Value, json};
use tokio::process::Command;

/// How a command line reaches the bridge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Transport {
    Http,
    Stdio,
}

impl Transport {
    fn name(self) -> &'static str {
        match self {
            Transport::Http => "HTTP",
            Transport::Stdio => "stdio",
        }
    }

    /// Returns the flags of `mcp-web install` for it.
    fn install_flags(self) -> &'static [&'static str] {
        match self {
            Transport::Http => &["--http"],
            Transport::Stdio => &[],
        }
    }
}

/// The turns of [`all_calls`], by what they call.
const CALL: usize = 0;
const WRONG: usize = 1;
const PICTURE: usize = 2;
const LARGE: usize = 3;
const PROGRESS: usize = 5;
const ELICITATION: usize = 6;
const SECOND: usize = 7;

/// Creates a script that calls each tool of the page, with the names that the client uses.
fn all_calls(tool_name: impl Fn(&str) -> String) -> Script {
    let call = |tool: &str, arguments: Value| Turn::from_call(&tool_name(tool), arguments);
    Script::new([
        call("add_note", json!({ "text": "buy milk" })),
        call("add_note", json!({})),
        call("picture", json!({})),
        call("large", json!({ "bytes": 3_000_000 })),
        call("add_tool", json!({ "name": "second" })),
        call("count", json!({ "to": 4 })),
        call("ask", json!({})),
        call("second", json!({})),
        Turn::from_text("Done."),
    ])
}

/// Creates a script that calls the tool `hang`.
fn hang(tool_name: impl Fn(&str) -> String) -> Script {
    Script::new([
        Turn::from_call(&tool_name("hang"), json!({})),
        Turn::from_text("Done."),
    ])
}

/// The most calls of a client during a deploy. It is interrupted before it has made all.
const DEPLOY_CALLS: usize = 2_000;

/// The time between the steps of a turn during a deploy.
const DEPLOY_PACE: Duration = Duration::from_millis(20);

/// Creates a script that calls the tool `echo` with a different id in each turn.
fn echoes(tool_name: impl Fn(&str) -> String) -> Script {
    Script::new(
        (0..DEPLOY_CALLS)
            .map(|id| Turn::from_call(&tool_name("echo"), json!({ "id": id })).pace(DEPLOY_PACE)),
    )
}

/// Runs a client that calls a tool all the time while all bridges are replaced, and saves its row.
async fn run_over_deploy(
    mut deploy: RollingDeploy,
    (client, command): (CommandLine, Command),
    row: ClientRow,
    name: &str,
) {
    let replaced = async {
        deploy.wait_for_calls().await;
        deploy.replace_all().await;
        deploy.wait_for_calls().await;
    };
    let run = client.run_until(name, command, replaced).await;
    let (mut answered, mut failed) = (Vec::new(), Vec::new());
    for id in (0..DEPLOY_CALLS).take_while(|turn| run.reached_turn(turn + 1)) {
        let ToolOutput { text, .. } = run.output(id);
        if text.contains(&json!({ "id": id }).to_string()) {
            answered.push(id as u64);
        } else {
            failed.push(text);
        }
    }
    deploy.finish(row, &answered, &failed, name).await;
}

fn result_if(works: bool, failure: &str) -> StepResult {
    if works {
        StepResult::Works
    } else {
        StepResult::Failed(failure.to_owned())
    }
}

/// Sets the results that all command lines have in common.
async fn set_results(row: &mut ClientRow, run: &CommandLineRun, app: &ClientsApp) {
    row.set(
        ClientStep::List,
        result_if(
            run.offers_tool("add_note", 0),
            "no tool is offered to the model",
        ),
    );
    let ToolOutput { text, .. } = run.output(CALL);
    let called = text.contains("notes") && app.notes().await == ["buy milk"];
    row.set(ClientStep::Call, result_if(called, &text));
    let ToolOutput { text, .. } = run.output(WRONG);
    let is_explained = text.contains("text") && text.contains("required");
    row.set(ClientStep::Wrong, result_if(is_explained, &text));
    let picture = run.output(PICTURE);
    let has_image = picture.images.iter().any(|bytes| *bytes > 1_000);
    row.set(ClientStep::Picture, result_if(has_image, &picture.text));
    let ToolOutput { text, .. } = run.output(LARGE);
    let has_note = text.find("[Cut:").is_some_and(|at| at < 200) && text.contains("get_result");
    let result = if has_note {
        let remark = "cut to what it shows its model, with a note and a handle first";
        StepResult::WorksBut(remark.to_owned())
    } else {
        StepResult::Failed(text.chars().take(300).collect())
    };
    row.set(ClientStep::Large, result);
    let ToolOutput { text, .. } = run.output(PROGRESS);
    let result = if text.contains("counted to 4") {
        StepResult::Lacks("it asks for progress and shows none".to_owned())
    } else {
        StepResult::Failed(text)
    };
    row.set(ClientStep::Progress, result);
    let ToolOutput { text, .. } = run.output(SECOND);
    let is_offered = run.offers_tool("second", SECOND + 1);
    row.set(
        ClientStep::ListChanged,
        result_if(text.contains("second") && is_offered, &text),
    );
}

fn npm_program(path: &str) -> PathBuf {
    program_paths::clients_node_modules().join(path)
}

pub(crate) mod claude_code {
    use super::*;

    fn tool_name(tool: &str) -> String {
        format!("mcp__web__{tool}")
    }

    /// A hook that answers elicitations without a user.
    const HOOK: &str = r#"{"hooks":{"Elicitation":[{"matcher":"","hooks":[{"type":"command","command":"echo '{\"hookSpecificOutput\":{\"hookEventName\":\"Elicitation\",\"action\":\"accept\",\"content\":{\"name\":\"Ada\"}}}'"}]}]}}"#;

    /// Returns the command that uses the tools of a server.
    pub(crate) fn command(client: &CommandLine, server: &str) -> Command {
        let mut command =
            client.command(&npm_program("@anthropic-ai/claude-code-linux-x64/claude"));
        let allowed = format!("mcp__{server}__*");
        command
            .env("ANTHROPIC_BASE_URL", client.provider().url())
            .env("ANTHROPIC_API_KEY", MockProvider::KEY)
            .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
            .args(["-p", "Do it.", "--output-format", "stream-json"])
            .args(["--verbose", "--allowedTools", &allowed, "--settings", HOOK]);
        command
    }

    async fn command_line(
        bridge: &impl BridgeEndpoint,
        transport: Transport,
        script: Script,
    ) -> (CommandLine, Command) {
        let client = CommandLine::new(Format::Anthropic, script).await;
        let flags = transport.install_flags();
        client
            .install("claude-code", flags, bridge, ".claude.json")
            .await;
        let command = command(&client, "web");
        (client, command)
    }

    async fn check_client(transport: Transport, tier: ClientTier, name: &str) {
        let app = ClientsApp::open(tier).await;
        let mut row = ClientRow::new(
            &program_paths::clients_package("@anthropic-ai/claude-code"),
            transport.name(),
            Some("2026-07-28"),
        )
        .in_tier(tier);
        let (client, command) = command_line(app.bed(), transport, all_calls(tool_name)).await;
        let run = client.run("Claude Code", command).await;
        set_results(&mut row, &run, &app).await;
        let ToolOutput { text, .. } = run.output(ELICITATION);
        let result = if text.contains("Hello Ada") {
            let remark = "with `-p` only a hook answers; without one it cancels";
            StepResult::WorksBut(remark.to_owned())
        } else {
            StepResult::Failed(text)
        };
        row.set(ClientStep::Elicitation, result);
        row.set(
            ClientStep::Leaving,
            result_if(app.is_without_clients().await, "the page still sees it"),
        );
        let (client, command) = command_line(app.bed(), transport, hang(tool_name)).await;
        client
            .run_until("Claude Code", command, app.wait_for_hanging_call())
            .await;
        app.wait_for_cancel().await;
        row.set(ClientStep::Cancel, StepResult::Works);
        app.assert_forwarded().await;
        row.finish(name);
    }

    #[tokio::test]
    async fn over_http() {
        check_client(Transport::Http, ClientTier::EachRun, "01-claude-code-http").await;
    }

    #[tokio::test]
    async fn over_stdio() {
        check_client(
            Transport::Stdio,
            ClientTier::EachRun,
            "02-claude-code-stdio",
        )
        .await;
    }

    async fn check_deploy(transport: Transport, name: &str) {
        let deploy = RollingDeploy::start().await;
        let package = program_paths::clients_package("@anthropic-ai/claude-code");
        let row = ClientRow::new(&package, transport.name(), Some("2026-07-28"));
        let client = command_line(&deploy, transport, echoes(tool_name)).await;
        run_over_deploy(deploy, client, row, name).await;
    }

    #[tokio::test]
    async fn over_http_and_a_rolling_deploy() {
        check_deploy(Transport::Http, "01-claude-code-http").await;
    }

    #[tokio::test]
    async fn over_stdio_and_a_rolling_deploy() {
        check_deploy(Transport::Stdio, "02-claude-code-stdio").await;
    }

    #[tokio::test]
    async fn over_http_at_another_bridge() {
        let tier = ClientTier::AnotherBridge;
        check_client(Transport::Http, tier, "01-claude-code-http").await;
    }

    #[tokio::test]
    async fn over_stdio_at_another_bridge() {
        let tier = ClientTier::AnotherBridge;
        check_client(Transport::Stdio, tier, "02-claude-code-stdio").await;
    }
}

mod gemini {
    use super::*;

    fn tool_name(tool: &str) -> String {
        format!("mcp_web_{tool}")
    }

    /// The timeout after which a call is cancelled, in milliseconds. A result of 3 MB comes within it on a
    /// busy machine.
    const TIMEOUT: u64 = 15_000;

    async fn command_line(
        bridge: &impl BridgeEndpoint,
        transport: Transport,
        script: Script,
    ) -> (CommandLine, Command) {
        let client = CommandLine::new(Format::Gemini, script).await;
        let (flags, file) = (transport.install_flags(), ".gemini/settings.json");
        let installed = client.install("gemini-cli", flags, bridge, file).await;
        let mut installed: Value = serde_json::from_str(&installed).unwrap();
        installed["mcpServers"]["web"]["timeout"] = json!(TIMEOUT);
        let settings = json!({
            "security": {
                "auth": { "selectedType": "gemini-api-key" },
                "folderTrust": { "enabled": false },
            },
            "general": { "enableAutoUpdate": false, "enableAutoUpdateNotification": false },
            "privacy": { "usageStatisticsEnabled": false },
            "telemetry": { "enabled": false },
            "model": { "name": "mock", "disableLoopDetection": true },
            "tools": { "core": ["mcp_*"], "useRipgrep": false },
            "mcpServers": installed["mcpServers"],
        });
        client.write(file, &settings.to_string());
        let mut command = client.command(&program_paths::node());
        command
            .arg(npm_program("@google/gemini-cli/bundle/gemini.js"))
            .args(["--approval-mode", "yolo", "--output-format", "stream-json"])
            .args(["--prompt", "Do it"])
            .env("TERM", "xterm-256color")
            .env("GEMINI_CLI_NO_RELAUNCH", "true")
            .env("GEMINI_API_KEY", MockProvider::KEY)
            .env("GOOGLE_GEMINI_BASE_URL", client.provider().url());
        (client, command)
    }

    async fn check_client(transport: Transport, name: &str) {
        let app = ClientsApp::open(ClientTier::EachRun).await;
        let mut row = ClientRow::new(
            &program_paths::clients_package("@google/gemini-cli"),
            transport.name(),
            Some("2025-06-18"),
        );
        let (client, command) = command_line(app.bed(), transport, all_calls(tool_name)).await;
        let run = client.run("Gemini CLI", command).await;
        set_results(&mut row, &run, &app).await;
        let wrong = "it checks the arguments itself, and the bridge is not asked";
        if row.results[&ClientStep::Wrong] == StepResult::Works {
            row.set(ClientStep::Wrong, StepResult::WorksBut(wrong.to_owned()));
        }
        let ToolOutput { text, .. } = run.output(ELICITATION);
        let result = if text.contains("ClientCapabilityMissing") {
            StepResult::Lacks("it declares none".to_owned())
        } else {
            StepResult::Failed(text)
        };
        row.set(ClientStep::Elicitation, result);
        let has_left = app.is_without_clients().await;
        let leaving = match transport {
            Transport::Stdio => result_if(has_left, "the page still sees it"),
            Transport::Http if has_left => {
                StepResult::Failed("it ends its session, although it is known not to".to_owned())
            }
            Transport::Http => StepResult::Lacks(
                "it sends no DELETE: its session makes room when another client needs it"
                    .to_owned(),
            ),
        };
        row.set(ClientStep::Leaving, leaving);
        let (client, command) = command_line(app.bed(), transport, hang(tool_name)).await;
        let run = client.run("Gemini CLI", command).await;
        app.wait_for_cancel().await;
        assert!(
            run.reached_turn(1),
            "the program does not continue with the model:\n{}",
            run.log
        );
        let cancel = "by its own timeout; Ctrl-C drops a call over HTTP without a word";
        row.set(ClientStep::Cancel, StepResult::WorksBut(cancel.to_owned()));
        row.finish(name);
    }

    /// The bridge crashes and starts between two calls.
    #[tokio::test]
    async fn over_http_and_a_restart() {
        let mut bridge = RestartedBridge::start().await;
        let call = |id: u64| (tool_name("echo"), json!({ "id": id }));
        let ((first, one), (second, two)) = (call(101), call(102));
        let script = Script::new([
            Turn::from_call(&first, one),
            Turn::from_call(&second, two).pause_after(0),
            Turn::from_text("Done."),
        ]);
        let (client, command) = command_line(&bridge, Transport::Http, script).await;
        let restart = async {
            client.provider().wait_for_pauses(1).await;
            let opened = bridge.initialize_count();
            bridge.crash_and_start().await;
            bridge.reconnect_program().await;
            client.provider().resume_one();
            opened
        };
        let (run, opened) = tokio::join!(client.run("Gemini CLI", command), restart);
        for (turn, id) in [(0, "101"), (1, "102")] {
            let ToolOutput { text, .. } = run.output(turn);
            assert!(text.contains(id), "{text}\n{}", run.log);
        }
        assert_eq!(bridge.initialize_count(), opened, "{}", run.log);
    }

    #[tokio::test]
    async fn over_http() {
        check_client(Transport::Http, "03-gemini-cli-http").await;
    }

    #[tokio::test]
    async fn over_stdio() {
        check_client(Transport::Stdio, "04-gemini-cli-stdio").await;
    }
}

mod codex {
    use super::*;

    /// The timeout after which a call is cancelled, in seconds. A result of 3 MB comes within it on a busy
    /// machine.
    const TIMEOUT: u64 = 15;

    /// A model whose limit for results is as large as that of OpenAI's models.
    const CATALOG: &str = r#"{"models":[{"slug":"played","display_name":"played","base_instructions":"You are played.","supported_reasoning_levels":[],"shell_type":"unified_exec","visibility":"list","supported_in_api":true,"priority":1,"support_verbosity":false,"truncation_policy":{"mode":"tokens","limit":10000},"experimental_supported_tools":[],"context_window":272000,"input_modalities":["text","image"]}]}"#;

    /// Returns the name of a tool in Codex, which puts the tools of a server into a namespace.
    fn tool_name(tool: &str) -> String {
        format!("mcp__web.{tool}")
    }

    async fn command_line(
        bridge: &impl BridgeEndpoint,
        transport: Transport,
        script: Script,
    ) -> (CommandLine, Command) {
        let client = CommandLine::new(Format::OpenAiResponses, script).await;
        let (flags, file) = (transport.install_flags(), ".codex/config.toml");
        let installed = client.install("codex", flags, bridge, file).await;
        let base_url = client.provider().base_url(Format::OpenAiResponses);
        let base_url = base_url.trim_end_matches('/');
        client.write("catalog.json", CATALOG);
        let catalog = client.home().join("catalog.json");
        let catalog = catalog.display();
        client.write(
            file,
            &format!(
                r#"model = "played"
model_provider = "played"
model_catalog_json = "{catalog}"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
web_search = "disabled"

[model_providers.played]
name = "played"
base_url = "{base_url}"
wire_api = "responses"
env_key = "PLAYED_KEY"
request_max_retries = 0
stream_max_retries = 0
supports_websockets = false

[features]
mcp_tool_list_changed = true
plugins = false

[analytics]
enabled = false

[feedback]
enabled = false

{installed}required = true
default_tools_approval_mode = "approve"
tool_timeout_sec = {TIMEOUT}
"#
            ),
        );
        let vendor =
            npm_program("@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex");
        let mut command = client.command(&vendor);
        command.env("PLAYED_KEY", MockProvider::KEY).args([
            "exec",
            "--json",
            "--skip-git-repo-check",
            "--ephemeral",
            "Do it.",
        ]);
        (client, command)
    }

    async fn check_client(transport: Transport, tier: ClientTier, name: &str) {
        let app = ClientsApp::open(tier).await;
        let package = program_paths::clients_package("@openai/codex");
        let row = ClientRow::new(&package, transport.name(), Some("2025-06-18"));
        let mut row = row.in_tier(tier);
        let (client, command) = command_line(app.bed(), transport, all_calls(tool_name)).await;
        let run = client.run("Codex", command).await;
        set_results(&mut row, &run, &app).await;
        let ToolOutput { text, .. } = run.output(ELICITATION);
        let result = if text.contains("no name: decline") {
            StepResult::Lacks("`codex exec` declines every question".to_owned())
        } else {
            StepResult::Failed(text)
        };
        row.set(ClientStep::Elicitation, result);
        if row.results[&ClientStep::ListChanged] == StepResult::Works {
            let feature =
                "with its feature `mcp_tool_list_changed`; otherwise it keeps the first list";
            row.set(
                ClientStep::ListChanged,
                StepResult::WorksBut(feature.to_owned()),
            );
        }
        // Whether the end of the session is sent before the process ends differs from run to run.
        let leaving = match transport {
            Transport::Http => {
                "it may exit before its DELETE is sent: a session may be left behind"
            }
            Transport::Stdio => {
                "it kills its server a few milliseconds after SIGTERM: a session may be left behind"
            }
        };
        let leaving = StepResult::WorksBut(leaving.to_owned());
        row.set(ClientStep::Leaving, leaving);
        let (client, command) = command_line(app.bed(), transport, hang(tool_name)).await;
        let run = client.run("Codex", command).await;
        app.wait_for_cancel().await;
        assert!(
            run.reached_turn(1),
            "the program does not continue with the model:\n{}",
            run.log
        );
        let cancel =
            "by its own timeout; Ctrl-C in `codex exec` may be too late for its last words";
        row.set(ClientStep::Cancel, StepResult::WorksBut(cancel.to_owned()));
        app.assert_forwarded().await;
        row.finish(name);
    }

    #[tokio::test]
    async fn over_http() {
        check_client(Transport::Http, ClientTier::EachRun, "05-codex-http").await;
    }

    #[tokio::test]
    async fn over_stdio() {
        check_client(Transport::Stdio, ClientTier::EachRun, "06-codex-stdio").await;
    }

    #[tokio::test]
    async fn over_http_at_another_bridge() {
        check_client(Transport::Http, ClientTier::AnotherBridge, "05-codex-http").await;
    }

    #[tokio::test]
    async fn over_http_and_a_rolling_deploy() {
        let deploy = RollingDeploy::start().await;
        let package = program_paths::clients_package("@openai/codex");
        let row = ClientRow::new(&package, Transport::Http.name(), Some("2025-06-18"));
        let client = command_line(&deploy, Transport::Http, echoes(tool_name)).await;
        run_over_deploy(deploy, client, row, "05-codex-http").await;
    }
}
