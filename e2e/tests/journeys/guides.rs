//! The guides in `docs/`, and the README of the demo: the results that their code blocks show are
//! correct.
//!
//! The fenced blocks of a guide run in order, and each `##` section in its own page:
//!
//! - `js` blocks run in a real Chromium page, as in the console of the section's page. `McpWeb` and
//!   the other exports of `mcp-web-sdk` are defined, and `mcpWeb` is connected to a real bridge
//!   (unless the section creates its own); in the README of the demo, the page is the demo;
//! - an `html page` block is the page of its section;
//! - `mcp` blocks are conversations of a real MCP client with that bridge, see [`transcript`];
//! - other blocks do not run.

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

/// The README of the demo.
const DEMO: &str = "demo";

macro_rules! guides {
    ($($name:ident = $file:expr,)*) => {
        const GUIDES: &[&str] = &[$($file),*];

        $(
            #[tokio::test]
            async fn $name() {
                run_guide($file).await;
            }
        )*
    };
}

guides! {
    tools = "tools",
    resources = "resources",
    prompts = "prompts",
    progress = "progress",
    hand_over = "hand-over",
    elicitation = "elicitation",
    sampling = "sampling",
    apps = "apps",
    page_tools = "page-tools",
    state = "state",
    names = "names",
    webmcp = "webmcp",
    eras = "eras",
    demo = "demo",
    moving_from_mcp_web = "mcp-web-0.1",
}

/// Every guide with a conversation must be in the list.
#[test]
fn every_guide_is_run() {
    let docs = program_paths::workspace().join("docs").read_dir().unwrap();
    let files = docs.map(|file| file.unwrap().path());
    let guides = files.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let runnable =
        guides.filter(|path| std::fs::read_to_string(path).unwrap().contains("\n```mcp"));
    let names: BTreeSet<String> = runnable
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    let guides = GUIDES.iter().filter(|&&name| name != DEMO);
    let listed: BTreeSet<String> = guides.map(|&name| name.to_owned()).collect();
    assert_eq!(names, listed);
}

async fn run_guide(name: &str) {
    let guide = Guide::load(name);
    let page = match name {
        DEMO => GuidePage::open_demo(TestBed::demo().await).await,
        "webmcp" => {
            GuidePage::open_with(&["--enable-features=WebMCP"], TestBed::bridge().await).await
        }
        _ => GuidePage::open(TestBed::bridge().await).await,
    };
    let mut claims = 0;
    for section in &guide.sections {
        claims += run_section(section, &page).await;
    }
    assert!(
        claims > 0,
        "the guide {name} shows no result that could be checked"
    );
    println!(
        "{name}: {} sections, {claims} claims hold",
        guide.sections.len()
    );
}

/// Runs the steps of a section, and returns how many results were checked.
async fn run_section(section: &Section, page: &GuidePage) -> usize {
    println!("## {}", section.title);
    page.open_section(section).await;
    let mut claims = 0;
    for step in &section.steps {
        match step {
            Step::Script(script) => page.run(script).await,
            Step::Conversation(transcript) => {
                page.settle().await;
                claims += run_conversation(transcript, page).await;
            }
        }
    }
    claims
}

async fn run_conversation(transcript: &Transcript, page: &GuidePage) -> usize {
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
            Line::PersonFills(label, text) => page.browser().fill(label, text).await,
            Line::PersonPresses(name) => page.browser().press_button(name).await,
        }
        claims += usize::from(!matches!(
            line,
            Line::Request(..) | Line::Cancel(_) | Line::Reply(_)
        ));
    }
    client.close().await;
    claims
}
