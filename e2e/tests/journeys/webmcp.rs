//! Tools shared with the browser (WebMCP): agents of the browser use the tools of the page, and AI
//! clients use the tools and the forms that are registered only in the browser.

use e2e::{
    Browser, ColorScheme, Era, McpClient, NodeProject, StaticSite, TestBed, Transport,
    program_paths,
};
use serde_json::{Value, json};

use crate::has;

/// The flag of a Chromium that has the API.
const WEBMCP: &str = "--enable-features=WebMCP";

/// Polyfills that take the place of the API, the newest one and the first one of `document`.
const POLYFILLS: [&str; 2] = ["mcp-b-global-5", "mcp-b-global-3"];

const ERAS: [Era; 2] = [Era::Initialize, Era::Discover];

/// Opens the page in a browser with these flags.
async fn open(flags: &[&str], url: &str) -> Browser {
    let browser = Browser::open_with(flags).await;
    browser.goto(url).await;
    browser.wait_for("cinema.ready").await;
    browser
}

/// Calls a tool as an agent in the page does.
async fn call_in_page(browser: &Browser, name: &str, input: Value) -> Value {
    let script = "const tool = (await document.modelContext.getTools()).find(({ name }) => name === args.name);
        const execute = (input) => document.modelContext.executeTool(tool, input);
        return execute(args.input).catch((error) => {
          if (!/parse input/i.test(error.message)) throw error;
          return execute(JSON.stringify(args.input));
        })";
    browser
        .eval(script, json!({ "name": name, "input": input }))
        .await
}

fn result_of(result: &impl serde::Serialize) -> Value {
    serde_json::to_value(result).unwrap()
}

fn text_of(result: &impl serde::Serialize) -> String {
    let result = result_of(result);
    let text = result["content"][0]["text"].as_str();
    text.unwrap_or_default().to_owned()
}

#[tokio::test]
async fn clients_of_each_era_use_the_tools_and_forms_of_the_browser() {
    let (bed, site) = (TestBed::bridge().await, StaticSite::start().await);
    let browser = open(&[WEBMCP], &site.webmcp_page(&bed, "")).await;
    for era in ERAS {
        let mut client = McpClient::connect(&bed, Transport::Http, era).await;
        let all = [
            "count_seats",
            "secret",
            "list_films",
            "reserve_seat",
            "search_films",
        ];
        client
            .wait_for_tools("it has the tools of both", |tools| {
                all.iter().all(|name| has(tools, name))
            })
            .await;
        let films = client.call("list_films", json!({})).await.unwrap();
        assert_eq!(text_of(&films), r#"{"films":["Metropolis"]}"#);

        // Chromium validates nothing: the bridge does, with the schema of the form.
        let refused = client.call("reserve_seat", json!({ "time": "moon" })).await;
        let refused = result_of(&refused.unwrap());
        assert_eq!(refused["isError"], true, "{refused}");
        assert!(refused.to_string().contains("seat"), "{refused}");

        // The form waits for a person.
        let seat = format!("{era:?}");
        let reservation = client
            .start_call("reserve_seat", json!({ "seat": seat }))
            .await;
        let form = "document.forms[0]";
        browser
            .wait_for(&format!("{form}.elements.seat.value === '{seat}'"))
            .await;
        let submit = format!(
            "{form}.addEventListener('submit', (event) => {{
               event.preventDefault();
               event.respondWith(Promise.resolve('reserved ' + {form}.elements.seat.value));
             }}, {{ once: true }});
             {form}.querySelector('button').click();"
        );
        browser.eval(&submit, json!(null)).await;
        let reserved = reservation.result().await.unwrap();
        assert_eq!(text_of(&reserved), format!("reserved {seat}"));
        client.close().await;
    }

    let mut client = McpClient::connect(&bed, Transport::Http, Era::Initialize).await;
    browser.eval("cinema.films.abort()", json!(null)).await;
    client
        .wait_for_tools("the aborted one is gone", |tools| !has(tools, "list_films"))
        .await;
    browser
        .eval("document.forms[1].remove()", json!(null))
        .await;
    client
        .wait_for_tools("the removed form is gone", |tools| {
            !has(tools, "search_films")
        })
        .await;
    let calls = browser.eval("return cinema.calls", json!(null)).await;
    assert!(
        calls.to_string().contains("finished list_films mcp"),
        "the app hears of these calls: {calls}"
    );
    assert_eq!(browser.console().await, [""; 0], "the console is empty");
}

#[tokio::test]
async fn of_two_calls_of_a_form_the_earlier_one_is_answered() {
    let (bed, site) = (TestBed::bridge().await, StaticSite::start().await);
    let browser = open(&[WEBMCP], &site.webmcp_page(&bed, "")).await;
    let mut client = McpClient::connect(&bed, Transport::Http, Era::Discover).await;
    client
        .wait_for_tools("it has the form", |tools| has(tools, "reserve_seat"))
        .await;
    let first = client
        .start_call("reserve_seat", json!({ "seat": "A1" }))
        .await;
    let seat = |seat: &str| format!("document.forms[0].elements.seat.value === '{seat}'");
    browser.wait_for(&seat("A1")).await;
    let second = client
        .start_call("reserve_seat", json!({ "seat": "B2" }))
        .await;
    let superseded = result_of(&first.result().await.unwrap());
    assert_eq!(superseded["isError"], true, "{superseded}");
    assert!(
        superseded.to_string().contains("filled in again"),
        "{superseded}"
    );
    browser.wait_for(&seat("B2")).await;

    // A person submits it, and the browser loads the next page. A script that waits for that would
    // be lost with the document, so the next page reports itself.
    let click = "setTimeout(() => document.forms[0].querySelector('button').click())";
    browser.eval(click, json!(null)).await;
    let submitted = second.result().await.unwrap();
    assert_eq!(
        text_of(&submitted),
        "The form was submitted, and the page is navigating."
    );
    assert_eq!(site.beacon().await, "reserved?seat=B2&time=");
}

#[tokio::test]
async fn a_form_that_navigates_by_itself_is_answered() {
    let (bed, site) = (TestBed::bridge().await, StaticSite::start().await);
    let _browser = open(&[WEBMCP], &site.webmcp_page(&bed, "")).await;
    let mut client = McpClient::connect(&bed, Transport::Http, Era::Initialize).await;
    client
        .wait_for_tools("it has the form", |tools| has(tools, "search_films"))
        .await;
    let searched = client
        .call("search_films", json!({ "words": "moon" }))
        .await
        .unwrap();
    assert_eq!(
        text_of(&searched),
        "The form was submitted, and the page is navigating."
    );
    assert_eq!(site.beacon().await, "reserved?words=moon");
}

#[tokio::test]
async fn agents_in_the_page_use_the_tools_of_the_page() {
    let (bed, site) = (TestBed::bridge().await, StaticSite::start().await);
    let browser = open(&[WEBMCP], &site.webmcp_page(&bed, "")).await;
    let listed = "return (await document.modelContext.getTools()).map(({ name }) => name)";
    assert_eq!(
        browser.eval(listed, json!(null)).await,
        json!(["count_seats", "list_films", "reserve_seat", "search_films"])
    );
    let counted = call_in_page(&browser, "count_seats", json!({ "row": "A" })).await;
    assert_eq!(counted, r#"{"row":"A","free":12}"#);
    let failed = call_in_page(&browser, "count_seats", json!({ "row": "Z" })).await;
    let failed: Value = serde_json::from_str(failed.as_str().unwrap()).unwrap();
    let expected =
        json!({ "isError": true, "error": "there is no row Z", "code": "HandlerFailed" });
    assert_eq!(failed, expected);
    let calls = browser.eval("return cinema.calls", json!(null)).await;
    assert_eq!(
        calls,
        json!([
            "started count_seats webmcp",
            "finished count_seats webmcp",
            "started count_seats webmcp",
            "failed count_seats webmcp"
        ])
    );

    // A bridge that is gone takes nothing from the browser.
    drop(bed);
    browser
        .wait_for("cinema.mcpWeb.status.state === 'reconnecting'")
        .await;
    let counted = call_in_page(&browser, "count_seats", json!({ "row": "B" })).await;
    assert_eq!(counted, r#"{"row":"B","free":12}"#);
}

#[tokio::test]
async fn a_site_without_tools_of_the_sdk_connects_with_two_lines() {
    let (bed, site) = (TestBed::bridge().await, StaticSite::start().await);
    let browser = open(&[WEBMCP], &site.webmcp_page(&bed, "only")).await;
    let mut client = McpClient::connect(&bed, Transport::Stdio, Era::Initialize).await;
    client
        .wait_for_tools("it has those of the browser", |tools| {
            has(tools, "list_films") && has(tools, "reserve_seat")
        })
        .await;
    let films = client.call("list_films", json!({})).await.unwrap();
    assert_eq!(text_of(&films), r#"{"films":["Metropolis"]}"#);
    browser
        .wait_for("cinema.imports.join() === 'list_films,reserve_seat,search_films'")
        .await;
}

#[tokio::test]
async fn without_the_api_or_its_permission_nothing_is_loaded_or_said() {
    let (bed, site) = (TestBed::bridge().await, StaticSite::start().await);
    let without_api = site.webmcp_page(&bed, "");
    let forbidden = site.webmcp_page_without_permission(&bed);
    for (flags, url) in [(&[][..], without_api), (&[WEBMCP][..], forbidden)] {
        let browser = open(flags, &url).await;
        let mut client = McpClient::connect(&bed, Transport::Http, Era::Discover).await;
        client
            .wait_for_tools("it has the page's tools only", |tools| {
                has(tools, "count_seats") && !has(tools, "reserve_seat")
            })
            .await;
        let loaded = "return performance.getEntriesByType('resource').map(({ name }) => name)
            .filter((name) => /webmcp\\.js$|model-context/.test(name)).map((name) => new URL(name).pathname)";
        assert_eq!(
            browser.eval(loaded, json!(null)).await,
            json!(["/webmcp.js"])
        );
        assert_eq!(browser.console().await, [""; 0], "the console is empty");
    }
}

#[tokio::test]
async fn a_polyfill_is_used_in_place_of_the_api() {
    for (polyfill, flags, moment) in [
        (POLYFILLS[0], &[][..], ""),
        (POLYFILLS[0], &[WEBMCP][..], "late"),
        (POLYFILLS[1], &[][..], "late"),
        (POLYFILLS[1], &[WEBMCP][..], ""),
    ] {
        let what = format!("{polyfill} {flags:?} {moment}");
        let (bed, site) = (TestBed::bridge().await, StaticSite::start().await);
        let parameters = format!("polyfill={polyfill}&{moment}");
        let browser = open(flags, &site.webmcp_page(&bed, &parameters)).await;
        let mut client = McpClient::connect(&bed, Transport::Http, Era::Discover).await;
        client
            .wait_for_tools(&what, |tools| {
                has(tools, "count_seats") && has(tools, "list_films")
            })
            .await;
        let films = client.call("list_films", json!({})).await.unwrap();
        let films = result_of(&films);
        assert_eq!(
            films["content"][0]["text"], r#"{"films":["Metropolis"]}"#,
            "{what}: {films}"
        );
        browser
            .wait_for("document.modelContext.getTools().then((tools) => tools.some(({ name }) => name === 'count_seats'))")
            .await;
        let counted = call_in_page(&browser, "count_seats", json!({ "row": "A" })).await;
        assert!(
            counted.as_str().unwrap().contains("free"),
            "{what}: {counted}"
        );
        let imports = browser.eval("return cinema.imports", json!(null)).await;
        assert!(
            !imports.to_string().contains("count_seats"),
            "{what}: {imports}"
        );
        browser.eval("cinema.films.abort()", json!(null)).await;
        client
            .wait_for_tools(&what, |tools| !has(tools, "list_films"))
            .await;
    }
}

#[tokio::test]
async fn the_demo_marks_the_tools_of_the_browser() {
    let bed = TestBed::demo().await;
    let browser = Browser::open_with(&[WEBMCP]).await;
    browser.goto(&format!("{}/#tools", bed.url())).await;
    browser
        .wait_for("mcpWeb.status.state === 'connected'")
        .await;
    let register = "globalThis.weather = new AbortController();
        await document.modelContext.registerTool({
          name: 'get_weather',
          description: 'Says what the weather is',
          inputSchema: { type: 'object', properties: { city: { type: 'string' } } },
          execute: () => 'sunny',
        }, { signal: weather.signal });
        const form = document.body.appendChild(document.createElement('form'));
        form.setAttribute('toolname', 'send_feedback');
        form.setAttribute('tooldescription', 'Sends feedback to the magazine');";
    browser.eval(register, json!(null)).await;
    let shown = |name: &str| {
        format!("document.querySelector('[data-imported={name}] .is-imported')?.textContent")
    };
    let form = browser.wait_for(&shown("send_feedback")).await;
    assert_eq!(form, "WebMCP form");
    let tool = browser.wait_for(&shown("get_weather")).await;
    assert_eq!(tool, "WebMCP");
    browser.emulate(ColorScheme::Light, 1280, 1600).await;
    let scroll = "document.querySelector('#imported').scrollIntoView()";
    browser.eval(scroll, json!(null)).await;
    browser.screenshot("demo-webmcp").await;
    browser.eval("weather.abort()", json!(null)).await;
    browser
        .wait_for(&format!("!{}", shown("get_weather")))
        .await;
}

#[tokio::test]
async fn a_real_agent_of_the_browser_uses_the_tools_of_the_page() {
    let (bed, site) = (TestBed::bridge().await, StaticSite::start().await);
    let project = NodeProject::copy_of("node");
    project.link_packages();
    let chromium = program_paths::chromium().display().to_string();
    let url = site.webmcp_page(&bed, "");
    let mut agent = project.node(
        "chrome-devtools-mcp",
        &["browser-agent.mjs", &url, &chromium],
    );
    let answer = agent.wait_for_line("{").await;
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let tools = answer["tools"].as_str().unwrap();
    for part in [
        r#"name="count_seats", description="Counts the free seats of a row""#,
        r#"name="list_films""#,
        r#"name="reserve_seat""#,
    ] {
        assert!(tools.contains(part), "{tools}");
    }
    assert!(!tools.contains("secret"), "{tools}");
    assert_eq!(
        answer["counted"]["output"],
        json!({ "row": "A", "free": 12 })
    );
    let invalid = &answer["invalid"]["output"];
    assert_eq!(invalid["code"], "InvalidArguments", "{answer}");
    let failed = &answer["failed"]["output"];
    assert_eq!(failed["error"], "there is no row Z", "{answer}");
}
