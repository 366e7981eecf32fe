//! Two rounds of calls, one of them with parallel calls, and an answer, in each of the four
//! formats.

use e2e::{ExchangeOutcome, Format, PageTool, Script, Turn};
use serde_json::{Value, json};

use crate::test_bed::{QueryEvents, QueryTestBed, adding_tool, query, query_tool};

fn script() -> Script {
    Script::new([
        Turn::from_text("Let me ")
            .text("look. 🧀")
            .call("list_cards", json!({})),
        Turn::default()
            .call("add_card", json!({ "title": "Käse" }))
            .call("add_card", json!({ "title": "Brot" })),
        Turn::from_text("Two cards ").text("added."),
    ])
}

fn listing_tool() -> PageTool {
    PageTool::new("list_cards", async |_| Ok(json!(["Milk"])))
}

/// Returns the messages with results of tools in a request to the provider.
fn results(format: Format, body: &Value) -> Vec<String> {
    let (list, field, value) = match format {
        Format::Gemini => ("contents", "role", "user"),
        Format::Anthropic => ("messages", "role", "user"),
        Format::OpenAi => ("messages", "role", "tool"),
        Format::OpenAiResponses => ("input", "type", "function_call_output"),
    };
    let messages = body[list].as_array().unwrap().iter();
    let messages = messages.filter(|message| message[field] == value);
    messages.map(Value::to_string).collect()
}

async fn check_two_rounds(format: Format) {
    let bed = QueryTestBed::start(format, script()).await;
    let page = bed.page(vec![listing_tool(), adding_tool(2)]).await;
    let events = QueryEvents::run(&page, query("q-1", "Plan my day")).await;
    assert_eq!(
        events.summary(),
        [
            "accepted",
            "says Let me look. 🧀",
            "calls 1 list_cards {}",
            "ended 1 list_cards",
            r#"calls 2 add_card {"title":"Käse"}"#,
            r#"calls 3 add_card {"title":"Brot"}"#,
            "ended 2 add_card",
            "ended 3 add_card",
            "says Two cards added.",
            r#"completes "Two cards added.""#,
        ]
    );
    let mut calls = events.last()["toolCalls"].as_array().unwrap().clone();
    calls[1..].sort_by_key(Value::to_string);
    assert_eq!(
        calls,
        [
            json!({ "tool": "list_cards", "arguments": {}, "result": ["Milk"] }),
            json!({ "tool": "add_card", "arguments": { "title": "Brot" }, "result": { "added": "Brot" } }),
            json!({ "tool": "add_card", "arguments": { "title": "Käse" }, "result": { "added": "Käse" } }),
        ]
    );
    bed.assert_idle_without_leaks().await;
    let exchanges = bed.provider.exchanges();
    assert_eq!(exchanges.len(), 3, "{format:?}");
    for (turn, exchange) in exchanges.iter().enumerate() {
        assert_eq!(exchange.outcome(), Some(ExchangeOutcome::Complete));
        assert_eq!((exchange.format, exchange.turn), (format, Some(turn)));
    }
    let prompt = exchanges[0].body.to_string();
    assert!(
        prompt.contains("Plan my day") && prompt.contains("list_cards"),
        "{prompt}"
    );
    let second = results(format, &exchanges[1].body).concat();
    assert!(second.contains("Milk"), "{second}");
    let third = results(format, &exchanges[2].body).concat();
    let (cheese, bread) = (third.find("Käse").unwrap(), third.find("Brot").unwrap());
    assert!(cheese < bread, "results in the order of the calls: {third}");
}

#[tokio::test]
async fn two_rounds_with_anthropic() {
    check_two_rounds(Format::Anthropic).await;
}

#[tokio::test]
async fn two_rounds_with_openai() {
    check_two_rounds(Format::OpenAi).await;
}

#[tokio::test]
async fn two_rounds_with_gemini() {
    check_two_rounds(Format::Gemini).await;
}

#[tokio::test]
async fn two_rounds_with_the_responses_of_openai() {
    check_two_rounds(Format::OpenAiResponses).await;
}

#[tokio::test]
async fn thinking_is_shown_and_sent_back_with_its_signature() {
    let script = Script::new([
        Turn::default()
            .thinking("What is ")
            .thinking("there?")
            .call("list_cards", json!({})),
        Turn::default().thinking("Milk.").text("There is milk."),
    ]);
    for (format, model) in [
        (Format::Anthropic, "claude-sonnet-4-5"),
        (Format::OpenAi, "mock"),
        (Format::Gemini, "gemini-3-flash-preview"),
        (Format::OpenAiResponses, "gpt-6.2-sol"),
    ] {
        let arguments = ["--thinking", "low", "--model", model];
        let bed = QueryTestBed::start_with(format, script.clone(), &arguments, &[]).await;
        let page = bed.page(vec![listing_tool()]).await;
        let events = QueryEvents::run(&page, query("q-1", "What is there?")).await;
        let summary = events.summary();
        assert_eq!(summary[1], "thinks What is ", "{format:?}");
        assert_eq!(
            summary.last().unwrap(),
            r#"completes "There is milk.""#,
            "{format:?}: {events:?}"
        );
        bed.assert_idle_without_leaks().await;
    }
}

#[tokio::test]
async fn text_split_within_characters_and_lines_arrives_whole() {
    let text = "Käse 🧀 und\r\nBrot \u{2028}";
    let turn = Turn::from_text(text)
        .call("echo", json!({ "text": text }))
        .max_chunk(3);
    let script = Script::new([turn, Turn::from_text(text).max_chunk(1)]);
    for format in Format::ALL {
        let bed = QueryTestBed::start(format, script.clone()).await;
        let page = bed.page(vec![PageTool::echo()]).await;
        let events = QueryEvents::run(&page, query("q-1", "Hello")).await;
        assert_eq!(events.last()["result"], text, "{format:?}: {events:?}");
        let calls =
            json!([{ "tool": "echo", "arguments": { "text": text }, "result": { "text": text } }]);
        assert_eq!(events.last()["toolCalls"], calls);
    }
}

#[tokio::test]
async fn the_response_tool_is_required_and_ends_the_query() {
    for format in Format::ALL {
        let script = Script::new([
            Turn::from_text("I would sort them by day."),
            Turn::from_call("arrange", json!({ "order": ["Milk"] })),
        ]);
        let bed = QueryTestBed::start(format, script).await;
        let arrange = PageTool::new("arrange", async |_| Ok(json!("arranged")));
        let page = bed.page(vec![listing_tool(), arrange]).await;
        let mut request = query("q-1", "Plan my day");
        request.response_tool = Some(query_tool("arrange"));
        let events = QueryEvents::run(&page, request).await;
        assert_eq!(
            events.last()["type"],
            "query_complete",
            "{format:?}: {events:?}"
        );
        assert!(events.last().get("result").is_none(), "{events:?}");
        assert_eq!(events.last()["toolCalls"][0]["result"], "arranged");
        bed.assert_idle_without_leaks().await;
        let exchanges = bed.provider.exchanges();
        assert_eq!(exchanges.len(), 2, "{format:?}");
        let second_request = &exchanges[1].body;
        // Another server than Anthropic's or OpenAI's may not obey the name of a tool: only the required
        // one is offered. Responses and Gemini are the APIs of one provider, whose models do.
        let (choice, forced, tools) = match format {
            Format::Anthropic => (
                &second_request["tool_choice"],
                json!({ "type": "any" }),
                &second_request["tools"],
            ),
            Format::OpenAi => (
                &second_request["tool_choice"],
                json!("required"),
                &second_request["tools"],
            ),
            Format::OpenAiResponses => (
                &second_request["tool_choice"],
                json!({ "type": "function", "name": "arrange" }),
                &second_request["tools"],
            ),
            Format::Gemini => (
                &second_request["toolConfig"]["functionCallingConfig"],
                json!({ "mode": "ANY", "allowedFunctionNames": ["arrange"] }),
                &second_request["tools"][0]["functionDeclarations"],
            ),
        };
        assert_eq!(*choice, forced, "{format:?}: {second_request}");
        let names = tools.as_array().unwrap().iter();
        let names = names.map(|tool| tool.get("function").unwrap_or(tool)["name"].clone());
        let names: Vec<_> = names.collect();
        match format {
            Format::Anthropic | Format::OpenAi => assert_eq!(names, ["arrange"], "{format:?}"),
            Format::OpenAiResponses | Format::Gemini => {
                assert!(
                    names.contains(&json!("list_cards")),
                    "{format:?}: {names:?}"
                );
            }
        }
    }
}

#[tokio::test]
async fn context_and_page_text_reach_the_model_as_data() {
    let bed = QueryTestBed::start(Format::Anthropic, Turn::from_text("It is sunny.")).await;
    let page = bed.page(vec![listing_tool()]).await;
    let mut request = query("q-1", "What is the weather?");
    let context = json!([{ "name": "weather", "type": "ephemeral", "value": { "sky": "clear" },
        "schema": { "type": "object" }, "description": "Now" }]);
    request.context = serde_json::from_value(context).unwrap();
    let events = QueryEvents::run(&page, request).await;
    assert_eq!(events.last()["result"], "It is sunny.");
    let exchange = bed.provider.wait_for_end(0).await;
    let sent = exchange.body["messages"][0].to_string();
    assert!(
        sent.contains("clear") && sent.contains("It is data"),
        "{sent}"
    );
    assert_eq!(exchange.headers["x-api-key"], "***");
}

#[tokio::test]
async fn the_settings_of_the_operator_reach_every_provider() {
    let arguments = [
        "--system",
        "Cards are tasks.",
        "--temperature",
        "0.5",
        "--stop-sequences",
        "END",
    ];
    for format in Format::ALL {
        let turn = Turn::from_text("Fine.");
        let model = match format {
            Format::Anthropic => "claude-haiku-4-5",
            Format::OpenAi => "mock",
            Format::OpenAiResponses => "gpt-4.1",
            Format::Gemini => "gemini-2.5-flash-lite",
        };
        let arguments = [&arguments[..], &["--model", model]].concat();
        let bed = QueryTestBed::start_with(format, turn, &arguments, &[]).await;
        let page = bed.page(vec![listing_tool()]).await;
        let events = QueryEvents::run(&page, query("q-1", "Hello")).await;
        assert_eq!(events.last()["result"], "Fine.", "{format:?}: {events:?}");
        let body = bed.provider.wait_for_end(0).await.body;
        let (system, temperature, stop) = match format {
            Format::Anthropic => (
                &body["system"],
                &body["temperature"],
                &body["stop_sequences"],
            ),
            Format::Gemini => {
                let config = &body["generationConfig"];
                (
                    &body["systemInstruction"],
                    &config["temperature"],
                    &config["stopSequences"],
                )
            }
            Format::OpenAi => (&body["messages"][0], &body["temperature"], &body["stop"]),
            // It has no field for texts at which a model stops.
            Format::OpenAiResponses => (&body["input"][0], &body["temperature"], &json!(["END"])),
        };
        assert!(
            system.to_string().contains("Cards are tasks."),
            "{format:?}: {body}"
        );
        assert_eq!(
            (temperature, stop),
            (&json!(0.5), &json!(["END"])),
            "{format:?}: {body}"
        );
    }
}

/// A tool whose registered schema several model services would refuse.
fn finding_tool() -> PageTool {
    PageTool::new("find", async |input| Ok(input)).input_schema(json!({
        "type": "object",
        "properties": { "limit": { "type": ["integer", "null"] } },
        "oneOf": [
            { "properties": { "id": { "type": "integer" } }, "required": ["id"] },
            { "properties": { "name": { "type": ["string", "null"] } }, "required": ["name"] },
        ],
    }))
}

#[tokio::test]
async fn a_union_at_the_root_reaches_no_provider_and_still_decides() {
    let script = Script::new([
        Turn::from_call("find", json!({ "id": 1, "name": "Rex" })),
        Turn::from_call("find", json!({ "name": "Rex", "limit": null })),
        Turn::from_text("Found."),
    ]);
    for format in Format::ALL {
        let bed = QueryTestBed::start(format, script.clone()).await;
        let page = bed.page(vec![finding_tool()]).await;
        let events = QueryEvents::run(&page, query("q-1", "Find Rex")).await;
        let summary = events.summary();
        let ends = summary.iter().filter(|line| line.contains("ed "));
        let ends: Vec<_> = ends.map(String::as_str).collect();
        assert_eq!(ends, ["failed 1 find", "ended 2 find"], "{summary:?}");
        assert_eq!(summary.last().unwrap(), r#"completes "Found.""#);
        bed.assert_idle_without_leaks().await;
        // The model knows the arguments of all branches, and the rule.
        let tools = bed.provider.exchanges()[0].body["tools"].to_string();
        for part in [r#""id":{"#, r#""name":{"#, "must also fit this JSON Schema"] {
            assert!(tools.contains(part), "{format:?}: {tools}");
        }
        assert!(!tools.contains(r#""oneOf":["#), "{format:?}: {tools}");
    }
}
