//! Requests of the agent to models old and new, which the mock provider refuses by the rules of each
//! model. Every query must be answered; a request may be refused only where the table below says so.

use std::sync::Arc;

use bridge_protocol::{Attachment, Query};
use e2e::{ChatServer, Exchange, Format, PageTool, QueryPage, Script, Scripts, TokenUsage, Turn};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::test_bed::{QueryEvents, QueryTestBed, adding_tool, query, query_tool};

/// A rule that refuses a request, which is then repeated once, and the query in which that happens.
type Refusals = &'static [(&'static str, &'static str)];

/// A model, and what its provider refuses of the agent's first try.
struct ModelCase {
    model: &'static str,
    /// Without thinking.
    off: Refusals,
    /// With much thinking.
    high: Refusals,
}

const fn model(model: &'static str) -> ModelCase {
    refusing(model, &[], &[])
}

const fn refusing(model: &'static str, off: Refusals, high: Refusals) -> ModelCase {
    ModelCase { model, off, high }
}

/// A provider, as the agent is configured for it.
#[derive(Clone, Copy)]
struct ProviderCase {
    server: ChatServer,
    format: Format,
    arguments: &'static [&'static str],
}

impl ProviderCase {
    const ANTHROPIC: Self = Self::new(Format::Anthropic);
    const RESPONSES: Self = Self::new(Format::OpenAiResponses);
    const CHAT: Self = Self::new(Format::OpenAi);
    const GEMINI: Self = Self::new(Format::Gemini);

    const fn new(format: Format) -> Self {
        Self {
            server: ChatServer::OpenAi,
            format,
            arguments: &[],
        }
    }

    const fn of(server: ChatServer) -> Self {
        Self {
            server,
            ..Self::CHAT
        }
    }
}

/// A provider with the rules of a model, its agent, and a page.
struct ModelTestBed {
    bed: QueryTestBed,
    page: QueryPage,
    /// Ends a call of the tool `wait`.
    may_end: Arc<Notify>,
}

impl ModelTestBed {
    async fn start(
        case: ProviderCase,
        model: &str,
        thinking: &str,
        scripts: impl Into<Scripts>,
        more: &[&str],
    ) -> Self {
        let mut arguments = vec!["--model", model, "--thinking", thinking, "--pictures", "on"];
        arguments.extend(case.arguments.iter().chain(more));
        let start = QueryTestBed::start_as;
        let bed = start(case.server, case.format, scripts, &arguments).await;
        let list = PageTool::new("list_cards", async |_| Ok(json!(["Milk"])));
        let may_end = Arc::new(Notify::new());
        let waiting = may_end.clone();
        let wait = PageTool::new("wait", move |_| {
            let waiting = waiting.clone();
            async move {
                waiting.notified().await;
                Ok(json!("waited"))
            }
        });
        let arrange = PageTool::new("arrange", async |input| {
            let is_empty = input["order"].as_array().is_none_or(Vec::is_empty);
            let error = || "nothing to arrange".to_owned();
            (!is_empty).then(|| json!("arranged")).ok_or_else(error)
        });
        let arrange = arrange.input_schema(json!({
            "type": "object",
            "properties": { "order": { "type": "array", "items": { "type": "string" } } },
            "required": ["order"]
        }));
        let tools = vec![list, adding_tool(2), arrange, wait];
        let page = bed.page(tools).await;
        Self { bed, page, may_end }
    }
}

/// The answers of the model to all queries, by the names in their prompts.
fn scripts() -> Scripts {
    let list_cards = || Turn::from_call("list_cards", json!({}));
    let arrange = |order: Value| Turn::from_call("arrange", json!({ "order": order }));
    let script = |turns: Vec<Turn>| {
        let usage = TokenUsage {
            input: 120,
            cached: 20,
            output: 30,
            thinking: 10,
        };
        Script::new(turns.into_iter().map(|turn| turn.token_usage(usage)))
    };
    let conversation = script(vec![
        Turn::default()
            .thinking("What is there?")
            .text("Let me look.")
            .call("list_cards", json!({})),
        Turn::from_call("add_card", json!({ "title": "Käse" }))
            .call("add_card", json!({ "title": "Brot" })),
        Turn::from_text("Two cards added."),
        list_cards(),
        Turn::from_text("There is milk."),
        Turn::from_text("As before."),
    ]);
    // The model forgets the tool that it must call, then calls it wrongly.
    let late = script(vec![
        list_cards(),
        Turn::from_text("I would begin with milk."),
        arrange(json!([])),
        arrange(json!(["Milk"])),
    ]);
    let answer = Turn::from_answer(json!({ "title": "Milk", "note": "2 l" }));
    Scripts::from(conversation)
        .with("tool", script(vec![arrange(json!(["Milk"]))]))
        .with("late", late)
        .with("schema", script(vec![list_cards(), answer]))
        .with("picture", script(vec![Turn::from_text("A dot.")]))
}

/// Silent acts of providers that cost nothing: the agent checks answers against the whole schema
/// itself, and offers only the tool that it forces.
const HARMLESS: &[&str] = &["gemini.schema_ignored", "ollama.choice_ignored"];

/// A transparent picture of one pixel.
const PICTURE: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

/// The queries, with what each must show.
fn queries() -> Vec<(&'static str, Query)> {
    let in_conversation = |uuid: &str, prompt: &str| {
        let mut query = query(uuid, prompt);
        query.conversation = Some("c-1".to_owned());
        query
    };
    let mut tool = query("q-tool", "Sort the cards [[tool]]");
    tool.response_tool = Some(query_tool("arrange"));
    let mut late = query("q-late", "Sort the cards again [[late]]");
    late.response_tool = Some(query_tool("arrange"));
    let mut schema = query("q-schema", "The first card [[schema]]");
    let json = json!({
        "type": "object",
        "properties": {
            "title": { "type": "string", "minLength": 1, "maxLength": 80 },
            "note": { "type": "string" }
        },
        "required": ["title"]
    });
    schema.response_schema = Some(serde_json::value::to_raw_value(&json).unwrap());
    let mut picture = query("q-picture", "What is in the picture? [[picture]]");
    picture.attachments = vec![Attachment {
        name: Some("dot.png".to_owned()),
        mime_type: "image/png".to_owned(),
        data: PICTURE.to_owned(),
    }];
    vec![
        ("two rounds", in_conversation("q-rounds", "Plan my day")),
        (
            "conversation",
            in_conversation("q-second", "What is there now?"),
        ),
        ("response tool", tool),
        ("late response tool", late),
        ("schema", schema),
        ("picture", picture),
        ("conversation again", in_conversation("q-third", "And now?")),
    ]
}

/// Sends all queries to one model. Returns what differs from the table.
async fn differences(
    case: ProviderCase,
    model: &str,
    thinking: &str,
    expected: Refusals,
) -> Vec<String> {
    let ModelTestBed { bed, page, .. } =
        ModelTestBed::start(case, model, thinking, scripts(), &[]).await;
    let mut found = Vec::new();
    let (mut sent, mut refusals) = (0, Vec::new());
    for (name, query) in queries() {
        let events = QueryEvents::run(&page, query).await;
        let last = events.last();
        let exchanges = bed.provider.exchanges().split_off(sent);
        sent += exchanges.len();
        if last["type"] != "query_complete" {
            found.push(format!("{name}: {last}"));
        }
        let sum = |count: fn(TokenUsage) -> u64| -> u64 {
            let usages = exchanges.iter().filter_map(|exchange| exchange.usage);
            usages.map(count).sum()
        };
        let used = json!({
            "input": sum(|usage| usage.input), "output": sum(|usage| usage.output),
            "cached": sum(|usage| usage.cached), "thinking": sum(|usage| usage.thinking)
        });
        let counted = &last["usage"]["models"][model];
        if last["type"] == "query_complete" && *counted != used {
            found.push(format!("{name}: usage {used} counted as {counted}"));
        }
        for exchange in &exchanges {
            if let Some(rule) = exchange.refused_by {
                refusals.push((name, rule));
                found.extend(unexpected_refusal(expected, name, exchange));
            }
            if names_missing_tool(&exchange.body) {
                found.push(format!(
                    "{name}: the prompt names a tool that is not offered"
                ));
            }
            let effects = exchange.effects.iter();
            let effects = effects.filter(|effect| !HARMLESS.contains(effect));
            found.extend(effects.map(|effect| format!("{name}: effect {effect}")));
        }
    }
    bed.agent.wait_until_idle().await;
    if refusals != expected {
        found.push(format!("refusals {refusals:?}"));
    }
    let describe = |what: String| format!("{model} {thinking}: {what}");
    found.into_iter().map(describe).collect()
}

/// Returns whether the prompt demands a call of `answer` without such a tool.
fn names_missing_tool(body: &Value) -> bool {
    let has_tool = body["tools"].to_string().contains(r#""name":"answer""#);
    !has_tool && body.to_string().contains("`answer`")
}

fn unexpected_refusal(expected: Refusals, name: &str, exchange: &Exchange) -> Option<String> {
    let rule = exchange.refused_by?;
    let is_expected = expected.contains(&(name, rule));
    let beta = exchange.headers.get("anthropic-beta");
    let body: String = exchange.body.to_string().chars().take(1500).collect();
    (!is_expected).then(|| format!("{name}: {rule} with anthropic-beta {beta:?}: {body}"))
}

async fn check_models(case: ProviderCase, rows: &[ModelCase]) {
    let mut found: Vec<String> = Vec::new();
    for row in rows {
        found.extend(differences(case, row.model, "off", row.off).await);
        found.extend(differences(case, row.model, "high", row.high).await);
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[tokio::test]
async fn models_of_anthropic_accept_every_query() {
    let rows = [
        model("claude-opus-5-5"),
        model("claude-sonnet-5-5"),
        model("claude-haiku-5-5"),
        model("claude-fable-5-2"),
        model("claude-opus-4-8"),
        model("claude-sonnet-5"),
        model("claude-haiku-4-5"),
        // Of an unknown model, the mock assumes that it accepts no kind of thinking.
        refusing(
            "claude-opus-7",
            &[("two rounds", "anthropic.thinking_adaptive")],
            &[("two rounds", "anthropic.effort")],
        ),
    ];
    check_models(ProviderCase::ANTHROPIC, &rows).await;
}

#[tokio::test]
async fn models_of_openai_accept_every_query_in_responses() {
    let rows = [
        model("gpt-6.2-sol"),
        model("gpt-6-astra"),
        model("gpt-5.6-sol"),
        model("gpt-5.4-mini"),
        model("gpt-5-mini"),
        model("gpt-4.1"),
        refusing("gpt-7-sol", &[], &[("two rounds", "openai.effort")]),
    ];
    check_models(ProviderCase::RESPONSES, &rows).await;
}

#[tokio::test]
async fn models_of_openai_accept_every_query_in_chat_completions() {
    let rows = [
        model("gpt-5.6-sol"),
        model("gpt-5.4-mini"),
        model("gpt-5-mini"),
        model("gpt-4.1"),
    ];
    check_models(ProviderCase::CHAT, &rows).await;
}

#[tokio::test]
async fn a_model_without_tools_in_chat_completions_fails_with_the_remedy() {
    // A gateway before OpenAI. OpenAI itself is known, so that the agent does not start.
    for (model, thinking) in [
        ("o4-pro", "off"),
        ("gpt-6.2-sol", "off"),
        ("gpt-6.2-sol", "high"),
    ] {
        let script = Script::default();
        let ModelTestBed { bed, page, .. } =
            ModelTestBed::start(ProviderCase::CHAT, model, thinking, script, &[]).await;
        let events = QueryEvents::run(&page, query("q-1", "What is there?")).await;
        let exchanges = bed.provider.exchanges();
        let refused: Vec<_> = exchanges.iter().map(|it| it.refused_by).collect();
        // The limit has the name that most servers have, and only one part can be left out.
        let expected = ["chat.max_tokens", "chat.tools_with_effort"].map(Some);
        assert_eq!(refused, expected, "{model} {thinking}");
        let last = events.last();
        assert_eq!(last["code"], "ModelRequestRefused", "{last}");
        let remedy = last["reason"].as_str().unwrap();
        assert!(remedy.contains("`openai_api` to `responses`"), "{last}");
        assert!(!last.to_string().contains("/v1/"), "{last}");
    }
}

#[tokio::test]
async fn models_of_gemini_accept_every_query() {
    let rows = [
        model("gemini-4-argon"),
        model("gemini-3.8-flash"),
        model("gemini-3.5-flash-lite"),
        model("gemini-2.5-flash-lite"),
        model("gemini-5-krypton"),
    ];
    check_models(ProviderCase::GEMINI, &rows).await;
}

#[tokio::test]
async fn ollama_accepts_every_query() {
    let as_openai = ProviderCase::of(ChatServer::Ollama);
    check_models(as_openai, &[model("qwen3")]).await;
    let as_ollama = ProviderCase {
        arguments: &["--provider", "ollama"],
        ..as_openai
    };
    check_models(as_ollama, &[model("qwen3")]).await;
}

#[tokio::test]
async fn deepseek_accepts_every_query() {
    check_models(
        ProviderCase::of(ChatServer::DeepSeek),
        &[model("deepseek-flash")],
    )
    .await;
}

const EXTRA: Refusals = &[("two rounds", "mistral.extra")];

#[tokio::test]
async fn mistral_accepts_every_query() {
    check_models(
        ProviderCase::of(ChatServer::Mistral),
        &[refusing("mistral-large-4-0", EXTRA, EXTRA)],
    )
    .await;
}

#[tokio::test]
async fn llama_cpp_accepts_every_query() {
    check_models(ProviderCase::of(ChatServer::LlamaCpp), &[model("smollm2")]).await;
}

#[tokio::test]
async fn vllm_accepts_every_query() {
    check_models(
        ProviderCase::of(ChatServer::Vllm),
        &[model("openai/gpt-oss-20b")],
    )
    .await;
}

/// Returns the ids of all refusals and effects so far.
fn refusals_and_effects(bed: &QueryTestBed) -> Vec<String> {
    let exchanges = bed.provider.exchanges();
    let refused = exchanges.iter().filter_map(|exchange| exchange.refused_by);
    let effects = exchanges.iter().flat_map(|exchange| &exchange.effects);
    refused.chain(effects.copied()).map(str::to_owned).collect()
}

/// Asks a model that must answer in its last round. Returns the refusals and effects.
async fn last_round(case: ProviderCase, model: &str) -> Vec<String> {
    let script = Script::new([
        Turn::from_call("list_cards", json!({})),
        Turn::from_text("There is milk."),
    ]);
    let ModelTestBed { bed, page, .. } =
        ModelTestBed::start(case, model, "high", script, &["--max-rounds", "2"]).await;
    let events = QueryEvents::run(&page, query("q-1", "What is there?")).await;
    let mut found = refusals_and_effects(&bed);
    if events.last()["result"] != "There is milk." {
        found.push(events.last().to_string());
    }
    found
        .into_iter()
        .map(|what| format!("{model}: {what}"))
        .collect()
}

async fn check_last_round(case: ProviderCase, models: &[&str]) {
    let mut found = Vec::new();
    for model in models {
        found.extend(last_round(case, model).await);
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[tokio::test]
async fn the_last_round_keeps_the_prefix_of_thinking_at_anthropic() {
    let models = [
        "claude-opus-5-5",
        "claude-sonnet-5-5",
        "claude-haiku-5-5",
        "claude-fable-5-2",
    ];
    check_last_round(ProviderCase::ANTHROPIC, &models).await;
}

#[tokio::test]
async fn the_last_round_keeps_the_prefix_of_reasoning_in_responses() {
    check_last_round(ProviderCase::RESPONSES, &["gpt-6.2-sol", "gpt-6.2-astra"]).await;
}

#[tokio::test]
async fn the_last_round_is_accepted_by_gemini_and_deepseek() {
    check_last_round(
        ProviderCase::GEMINI,
        &["gemini-4-argon", "gemini-3.8-flash"],
    )
    .await;
    let deepseek = ProviderCase::of(ChatServer::DeepSeek);
    check_last_round(deepseek, &["deepseek-flash"]).await;
}

/// Asks a model while the page registers a further tool. Returns the refusals and effects.
async fn changed_tools(case: ProviderCase, model: &str) -> Vec<String> {
    let script = Script::new([
        Turn::from_call("wait", json!({})),
        Turn::from_text("Waited."),
    ]);
    let ModelTestBed { bed, page, may_end } =
        ModelTestBed::start(case, model, "high", script, &[]).await;
    let mut events = QueryEvents::default();
    page.send_query(query("q-1", "Wait")).await;
    events.collect_until(&page, "q-1", "tool-started").await;
    page.register(&PageTool::hang()).await;
    may_end.notify_one();
    let rest = QueryEvents::collect_rest(&page, "q-1").await;
    let mut found = refusals_and_effects(&bed);
    if rest.last()["result"] != "Waited." {
        found.push(rest.last().to_string());
    }
    found
        .into_iter()
        .map(|what| format!("{model}: {what}"))
        .collect()
}

#[tokio::test]
async fn tools_that_change_during_a_query_cost_its_thoughts_and_no_request() {
    let (anthropic, responses) = (ProviderCase::ANTHROPIC, ProviderCase::RESPONSES);
    // The agent leaves out thoughts that Claude would drop, and OpenAI drops them itself.
    let dropped = "gpt-6.2-sol: openai.reasoning_dropped";
    for (case, model, effects) in [
        (anthropic, "claude-opus-5-5", &[][..]),
        (anthropic, "claude-haiku-5-5", &[]),
        (anthropic, "claude-fable-5-2", &[]),
        (responses, "gpt-6.2-sol", &[dropped]),
    ] {
        assert_eq!(changed_tools(case, model).await, effects, "{model}");
    }
}

/// Returns the messages of a request, without marks of the cache.
fn messages(exchange: &Exchange) -> Vec<Value> {
    let body = &exchange.body;
    let list = ["messages", "input", "contents"];
    let list = list.iter().find_map(|field| body[field].as_array());
    let mut messages = list.expect("a request has messages").clone();
    for message in &mut messages {
        if let Some(text) = message["content"].as_str() {
            message["content"] = json!([{ "type": "text", "text": text }]);
        }
        for block in message["content"].as_array_mut().into_iter().flatten() {
            block.as_object_mut().unwrap().shift_remove("cache_control");
        }
    }
    messages
}

#[tokio::test]
async fn a_later_query_begins_with_the_messages_of_the_earlier_one() {
    let script = || Script::new([Turn::from_text("Yes."), Turn::from_text("No.")]);
    for (case, model) in [
        (ProviderCase::ANTHROPIC, "claude-opus-4-8"),
        (ProviderCase::RESPONSES, "gpt-5.4-mini"),
        (ProviderCase::GEMINI, "gemini-2.5-flash-lite"),
        (ProviderCase::of(ChatServer::LlamaCpp), "smollm2"),
    ] {
        let ModelTestBed { bed, page, .. } =
            ModelTestBed::start(case, model, "off", script(), &[]).await;
        for uuid in ["q-1", "q-2"] {
            let mut query = query(uuid, "Is there milk?");
            query.conversation = Some("c-1".to_owned());
            QueryEvents::run(&page, query).await;
        }
        let exchanges = bed.provider.exchanges();
        let (first, second) = (messages(&exchanges[0]), messages(&exchanges[1]));
        assert_eq!(second[..first.len()], first, "{model}");
    }
}
