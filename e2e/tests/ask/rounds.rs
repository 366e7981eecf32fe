//! On each of the four wires: two rounds of calls, one of them parallel, then an answer.

use e2e::{Ending, Format, NativeItem, Script, Turn};
use serde_json::{Value, json};

use crate::asking::{Asking, Heard, adding, named, query};

fn script() -> Script {
    Script::new([
        Turn::saying("Let me ")
            .text("look. 🧀")
            .call("list_cards", json!({})),
        Turn::default()
            .call("add_card", json!({ "title": "Käse" }))
            .call("add_card", json!({ "title": "Brot" })),
        Turn::saying("Two cards ").text("added."),
    ])
}

fn listing() -> NativeItem {
    NativeItem::tool("list_cards", async |_| Ok(json!(["Milk"]).into()))
}

/// What was sent to the provider as the results of a turn.
fn results(format: Format, body: &Value) -> Vec<String> {
    let (list, role) = match format {
        Format::Gemini => ("contents", "user"),
        Format::Anthropic => ("messages", "user"),
        _ => ("messages", "tool"),
    };
    let messages = body[list].as_array().unwrap().iter();
    let messages = messages.filter(|message| message["role"] == role);
    messages.map(Value::to_string).collect()
}

async fn two_rounds(format: Format) {
    let asking = Asking::start(format, script()).await;
    let page = asking.page(vec![listing(), adding(2)]).await;
    let heard = Heard::of(&page, query("q-1", "Plan my day")).await;
    assert_eq!(
        heard.story(),
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
    let mut calls = heard.last()["toolCalls"].as_array().unwrap().clone();
    calls[1..].sort_by_key(Value::to_string);
    assert_eq!(
        calls,
        [
            json!({ "tool": "list_cards", "arguments": {}, "result": ["Milk"] }),
            json!({ "tool": "add_card", "arguments": { "title": "Brot" }, "result": { "added": "Brot" } }),
            json!({ "tool": "add_card", "arguments": { "title": "Käse" }, "result": { "added": "Käse" } }),
        ]
    );
    asking.at_rest().await;
    let exchanges = asking.provider.exchanges();
    assert_eq!(exchanges.len(), 3, "{format:?}");
    for (turn, exchange) in exchanges.iter().enumerate() {
        assert_eq!(exchange.ending(), Some(Ending::Whole));
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
    two_rounds(Format::Anthropic).await;
}

#[tokio::test]
async fn two_rounds_with_openai() {
    two_rounds(Format::OpenAi).await;
}

#[tokio::test]
async fn two_rounds_with_gemini() {
    two_rounds(Format::Gemini).await;
}

#[tokio::test]
async fn two_rounds_with_ollama() {
    two_rounds(Format::Ollama).await;
}

#[tokio::test]
async fn thoughts_are_shown_and_told_again_with_their_signatures() {
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
        (Format::Gemini, "gemini-3-flash"),
        (Format::Ollama, "mock"),
    ] {
        let arguments = ["--thinking", "low", "--model", model];
        let asking = Asking::start_with(format, script.clone(), &arguments, &[]).await;
        let page = asking.page(vec![listing()]).await;
        let heard = Heard::of(&page, query("q-1", "What is there?")).await;
        let story = heard.story();
        assert_eq!(story[1], "thinks What is ", "{format:?}");
        assert_eq!(
            story.last().unwrap(),
            r#"completes "There is milk.""#,
            "{format:?}: {heard:?}"
        );
        asking.at_rest().await;
    }
}

#[tokio::test]
async fn pieces_that_break_within_characters_and_lines_come_whole() {
    let text = "Käse 🧀 und\r\nBrot \u{2028}";
    let turn = Turn::saying(text)
        .call("echo", json!({ "text": text }))
        .shredded(3);
    let script = Script::new([turn, Turn::saying(text).shredded(1)]);
    for format in Format::OF_OUR_AGENT {
        let asking = Asking::start(format, script.clone()).await;
        let page = asking.page(vec![NativeItem::echo()]).await;
        let heard = Heard::of(&page, query("q-1", "Hello")).await;
        assert_eq!(heard.last()["result"], text, "{format:?}: {heard:?}");
        let calls =
            json!([{ "tool": "echo", "arguments": { "text": text }, "result": { "text": text } }]);
        assert_eq!(heard.last()["toolCalls"], calls);
    }
}

#[tokio::test]
async fn the_response_tool_is_demanded_and_ends_the_query() {
    for format in Format::OF_OUR_AGENT {
        let script = Script::new([
            Turn::saying("I would sort them by day."),
            Turn::calling("arrange", json!({ "order": ["Milk"] })),
        ]);
        let asking = Asking::start(format, script).await;
        let arrange = NativeItem::tool("arrange", async |_| Ok(json!("arranged").into()));
        let page = asking.page(vec![listing(), arrange]).await;
        let mut asked = query("q-1", "Plan my day");
        asked.response_tool = Some(named("arrange"));
        let heard = Heard::of(&page, asked).await;
        assert_eq!(
            heard.last()["type"],
            "query_complete",
            "{format:?}: {heard:?}"
        );
        assert!(heard.last().get("result").is_none(), "{heard:?}");
        assert_eq!(heard.last()["toolCalls"][0]["result"], "arranged");
        asking.at_rest().await;
        let exchanges = asking.provider.exchanges();
        assert_eq!(exchanges.len(), 2, "{format:?}");
        let demanded = &exchanges[1].body;
        let is_demanded = match format {
            Format::Anthropic => demanded["tool_choice"]["name"] == "arrange",
            Format::Gemini => {
                let config = &demanded["toolConfig"]["functionCallingConfig"];
                config["allowedFunctionNames"] == json!(["arrange"])
            }
            // There the others are not offered.
            _ => {
                let tools = demanded["tools"].as_array().unwrap();
                tools.len() == 1 && tools[0]["function"]["name"] == "arrange"
            }
        };
        assert!(is_demanded, "{format:?}: {demanded}");
    }
}

#[tokio::test]
async fn context_and_what_the_page_says_reach_the_model_as_data() {
    let asking = Asking::start(Format::Anthropic, Turn::saying("It is sunny.")).await;
    let page = asking.page(vec![listing()]).await;
    let mut asked = query("q-1", "What is the weather?");
    let context = json!([{ "name": "weather", "type": "ephemeral", "value": { "sky": "clear" },
        "schema": { "type": "object" }, "description": "Now" }]);
    asked.context = serde_json::from_value(context).unwrap();
    let heard = Heard::of(&page, asked).await;
    assert_eq!(heard.last()["result"], "It is sunny.");
    let exchange = asking.provider.ended(0).await;
    let sent = exchange.body["messages"][0].to_string();
    assert!(
        sent.contains("clear") && sent.contains("It is data"),
        "{sent}"
    );
    assert_eq!(exchange.headers["x-api-key"], "***");
}
