//! The guides in `docs/`: what their snippets claim is true.
//!
//! A guide's fenced blocks run in order, each `##` section in a page of its own:
//!
//! - `js` runs in a real Chromium page, as at the console of the section's page, where `McpWeb` and
//!   the other exports of `mcp-web-sdk` are there and `mcpWeb` is connected to a real bridge (unless the
//!   section makes its own); in `demo.md` the page is the demo;
//! - `mcp` is a conversation of a real MCP client with that bridge, see [`transcript`];
//! - other blocks are for reading.

mod client;
mod guide;
mod matching;
mod page;
mod transcript;

use std::collections::BTreeSet;

use e2e::{TestBed, program_paths};

use self::client::GuideClient;
use self::guide::{Guide, Section, Step};
use self::page::GuidePage;
use self::transcript::{Answer, Line, Transcript};

macro_rules! guides {
    ($($name:ident = $file:expr,)*) => {
        const GUIDES: &[&str] = &[$($file),*];

        $(
            #[tokio::test]
            async fn $name() {
                follow($file).await;
            }
        )*
    };
}

guides! {
    tools = "tools",
    resources = "resources",
    prompts = "prompts",
    progress = "progress",
    elicitation = "elicitation",
    sampling = "sampling",
    apps = "apps",
    names = "names",
    eras = "eras",
    demo = "demo",
    moving_from_mcp_web = "mcp-web-0.1",
}

/// A guide that no test follows would be words only.
#[test]
fn every_guide_is_followed() {
    let docs = program_paths::workspace().join("docs").read_dir().unwrap();
    let files = docs.map(|file| file.unwrap().path());
    let guides = files.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let runnable =
        guides.filter(|path| std::fs::read_to_string(path).unwrap().contains("\n```mcp"));
    let names: BTreeSet<String> = runnable
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    let followed: BTreeSet<String> = GUIDES.iter().map(|&name| name.to_owned()).collect();
    assert_eq!(names, followed);
}

async fn follow(name: &str) {
    let guide = Guide::load(name);
    let page = match name {
        "demo" => GuidePage::open_demo(TestBed::demo().await).await,
        _ => GuidePage::open(TestBed::bridge().await).await,
    };
    let mut claims = 0;
    for section in &guide.sections {
        claims += follow_section(section, &page).await;
    }
    assert!(claims > 0, "docs/{name}.md claims nothing that was checked");
    println!(
        "docs/{name}.md: {} sections, {claims} claims hold",
        guide.sections.len()
    );
}

/// How many claims were checked.
async fn follow_section(section: &Section, page: &GuidePage) -> usize {
    println!("## {}", section.title);
    page.open_section(section).await;
    let mut claims = 0;
    for step in &section.steps {
        match step {
            Step::Script(script) => page.run(script).await,
            Step::Conversation(transcript) => {
                page.settle().await;
                claims += converse(transcript, page).await;
            }
        }
    }
    claims
}

async fn converse(transcript: &Transcript, page: &GuidePage) -> usize {
    let mut client = GuideClient::connect(&page.server().await, transcript).await;
    let mut claims = 0;
    for line in &transcript.lines {
        println!("  {line}");
        match line {
            Line::Request(method, params) => client.request(method, params).await,
            Line::Cancel(reason) => client.cancel(reason).await,
            Line::Reply(answer) => client.reply(answer),
            Line::ServerMessage(method, params) => {
                client.expect_message(method, params.as_ref()).await
            }
            Line::ExpectedAnswer(answer) => client.expect_answer(answer).await,
            Line::Page(script) => page.check(script).await,
        }
        claims += usize::from(!matches!(
            line,
            Line::Request(..) | Line::Cancel(_) | Line::Reply(_)
        ));
    }
    client.close().await;
    claims
}
