//! A native program with everything that the journey `full_protocol` checks, and a counter. Its first
//! argument is the address of the bridge, the second the token, the third the session.
#![allow(clippy::print_stderr, clippy::print_stdout)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mcp_web_sdk::{
    Call, CallError, Elicited, LogLevel, McpWeb, Message, NoArguments, Prompt, Resource,
    ResourceTemplate, Token, Tool,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Deserialize, JsonSchema)]
struct Person {
    name: String,
}

#[derive(Deserialize, JsonSchema)]
struct By {
    by: u8,
}

#[derive(Serialize, JsonSchema)]
struct Count {
    count: u64,
}

/// How long the tool `block` blocks its thread.
const BLOCK: Duration = Duration::from_secs(1);

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let [bridge, token, session] =
        [1, 2, 3].map(|index| std::env::args().nth(index).expect("three arguments"));
    let app = McpWeb::builder("Native")
        .bridge(bridge)
        .token(Token::new(token))
        .session_id(session)
        .build()?;
    app.add_tool(Tool::new("ask"), |_: NoArguments, call: Call| async move {
        call.progress(1.0, Some(2.0), None);
        call.log(LogLevel::Info, json!({ "asks": 3 }));
        let (who, hello, roots) =
            tokio::try_join!(who(&call), call.sample("say hello"), call.roots())?;
        Ok(json!({ "first": [who, hello, roots[0].uri], "second": self::who(&call).await? }))
    });
    app.add_prompt(
        Prompt::new("greet")
            .required("whom", "Who is greeted")
            .complete("whom", starting_with(&["Ada", "Bob"])),
        |arguments, call| async move {
            Ok(vec![Message::user(format!(
                "{} greets {}",
                who(&call).await?,
                arguments["whom"]
            ))])
        },
    );
    let notes = app.add_resource(Resource::new("notes://all", "all"), |_, _| async {
        Ok("every note")
    });
    app.add_resource_template(
        ResourceTemplate::new("notes://note/{id}", "note")
            .complete("id", starting_with(&["1", "12", "2"])),
        |request, _| async move { Ok(format!("the note {}", request.variables["id"])) },
    );
    app.add_tool(Tool::new("update"), move |_: NoArguments, _| {
        std::future::ready(Ok(json!(notes.notify_updated())))
    });
    let count = Arc::new(AtomicU64::new(0));
    app.add_tool(
        Tool::new("increment").describe("Counts up"),
        move |By { by }, _| {
            let count = count.fetch_add(by.into(), Ordering::Relaxed) + u64::from(by);
            std::future::ready(Ok(Count { count }))
        },
    );
    app.add_tool(Tool::new("text"), |input: Value, _| async move {
        Ok("x".repeat(input["bytes"].as_u64().unwrap_or(1) as usize))
    });
    app.add_tool(Tool::new("panic"), |_: NoArguments, _| async {
        if true {
            panic!("a handler that panics")
        };
        Ok(())
    });
    app.add_tool(Tool::new("block"), |_: NoArguments, _| async {
        std::thread::sleep(BLOCK); // sleep: the handler blocks its thread
        Ok(())
    });
    let last = app.add_tool(Tool::new("wait"), |_: NoArguments, call| async move {
        println!("waiting");
        println!("cancelled: {}", call.cancelled().await);
        Ok(())
    });
    let (mut status, mut subscriptions) = (app.status(), app.subscriptions());
    tokio::spawn(async move {
        while subscriptions.changed().await.is_ok() {
            println!("subscriptions {:?}", *subscriptions.borrow_and_update());
        }
    });
    app.connect().await?;
    println!("registered {}", last.registered().await?);
    loop {
        tokio::select! {
            Ok(()) = status.changed() => println!("status {:?}", *status.borrow_and_update()),
            _ = tokio::signal::ctrl_c() => {
                app.disconnect().await;
                return Ok(());
            }
        }
        if let mcp_web_sdk::Status::Failed(error) = &*status.borrow() {
            return Err(error.clone().into());
        }
    }
}

async fn who(call: &Call) -> Result<String, CallError> {
    match call.elicit::<Person>("Who are you?").await? {
        Elicited::Accepted(person) => Ok(person.name),
        _ => Err(CallError::new("nobody answered")),
    }
}

fn starting_with(all: &'static [&'static str]) -> impl Fn(&str) -> Vec<String> {
    |prefix| {
        all.iter()
            .filter(|it| it.starts_with(prefix))
            .map(|&it| it.to_owned())
            .collect()
    }
}
