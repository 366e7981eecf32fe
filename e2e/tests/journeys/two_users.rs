//! Two users of one app in one document, one after the other or side by side: a call reaches only
//! the handlers of the token that it was made with.

use std::time::{Duration, Instant};

use e2e::{Browser, PlainHttp, StaticSite, TestBed, TokenIssuer, with_deadline};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::open_app;

const ADA: &str = "the-token-of-ada-0123456789";
const BOB: &str = "the-token-of-bob-0123456789";

/// How long a token may work after that of another user has taken its place.
const CHANGE_LIMIT: Duration = Duration::from_secs(1);

/// The errors of a call that ran, and of later ones.
const ENDED: &str = "another user has taken the page over while the call was running";
const GONE: &str = "no page of it is open now";

/// Defines `open(user, authToken)`: an app whose tools belong to a user.
const APP: &str = "
    const { McpWeb } = await import(`${args}/sdk/mcp-web.js`);
    globalThis.states = [];
    globalThis.aborted = [];
    globalThis.open = async (user, authToken) => {
      const mcpWeb = new McpWeb({ name: 'Notes', bridgeUrl: args, authToken });
      mcpWeb.onStatusChange(({ state }) => states.push(state));
      const whoami = mcpWeb.addTool({
        name: 'whoami',
        description: 'Names the user',
        handler: () => user,
      });
      const hold = mcpWeb.addTool({
        name: 'hold',
        description: 'Names the user when the test says so',
        handler: (_, { signal }) =>
          new Promise((resolve) => {
            globalThis.release = () => resolve(user);
            signal.addEventListener('abort', () => aborted.push(user));
          }),
      });
      await Promise.all([whoami.registered, hold.registered]);
    };";

struct Document {
    browser: Browser,
    bed: TestBed,
    _site: StaticSite,
}

impl Document {
    async fn with_app(bed: TestBed) -> Self {
        let site = StaticSite::start().await;
        let browser = open_app(&site, &bed).await;
        browser.eval(APP, json!(bed.url())).await;
        Self {
            browser,
            bed,
            _site: site,
        }
    }

    /// Opens the document with a bridge that accepts the tokens of [`TokenIssuer`].
    async fn with_signed_tokens() -> Self {
        let mut bed = TestBed::bridge_with(&TokenIssuer::bridge_arguments()).await;
        bed.set_token(TokenIssuer::token_of("somebody"));
        Self::with_app(bed).await
    }

    async fn run(&self, script: &str) -> Value {
        self.browser.eval(script, json!(null)).await
    }

    fn client(&self, token: &str) -> PlainHttp {
        PlainHttp::new(&self.bed).with_token(token)
    }

    /// Starts a call of `hold`, and waits until its handler runs.
    async fn start_call(&self, client: &PlainHttp) -> JoinHandle<String> {
        let client = client.clone();
        let call = tokio::spawn(async move { call(&client, "hold").await });
        self.browser.wait_for("globalThis.release").await;
        call
    }
}

/// Calls a tool, and returns the text of its result or of its error.
async fn call(client: &PlainHttp, tool: &str) -> String {
    let answer = client.call(tool, json!({})).await.unwrap();
    let text = answer["content"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("{answer}")).to_owned()
}

async fn whoami(client: &PlainHttp) -> String {
    call(client, "whoami").await
}

/// Calls `whoami` until no page is connected for the token. Returns the answers before.
async fn answers_until_gone(client: &PlainHttp) -> Vec<String> {
    let mut answers = Vec::new();
    let calls = async {
        loop {
            let answer = whoami(client).await;
            if answer.contains(GONE) {
                return;
            }
            answers.push(answer);
        }
    };
    with_deadline("the end of the session", calls).await;
    answers
}

#[tokio::test]
async fn another_token_function_ends_the_session_of_the_former_user() {
    let document = Document::with_app(TestBed::bridge().await).await;
    let (ada, bob) = (document.client(ADA), document.client(BOB));
    document
        .run(&format!("await open('ada', () => '{ADA}')"))
        .await;
    assert_eq!(whoami(&ada).await, "ada");
    let held = document.start_call(&ada).await;

    let change = format!("await open('bob', () => '{BOB}')");
    let start = Instant::now();
    let (_, answers) = tokio::join!(document.run(&change), answers_until_gone(&ada));

    assert!(start.elapsed() < CHANGE_LIMIT, "{:?}", start.elapsed());
    let is_of_ada = |answer: &String| answer == "ada" || answer.contains(ENDED);
    assert!(answers.iter().all(is_of_ada), "{answers:?}");
    let ended = with_deadline("the call", held).await.unwrap();
    assert!(ended.contains(ENDED), "{ended}");
    document.browser.wait_for("aborted[0] === 'ada'").await;
    assert_eq!(whoami(&bob).await, "bob");

    // The former user comes back.
    document
        .run(&format!("await open('ada', () => '{ADA}')"))
        .await;
    assert_eq!(whoami(&ada).await, "ada");
    answers_until_gone(&bob).await;
}

#[tokio::test]
async fn another_function_with_a_fresh_token_of_the_same_user_disturbs_no_call() {
    let document = Document::with_signed_tokens().await;
    let tokens = [1, 2].map(|_| TokenIssuer::token_of("ada"));
    assert_ne!(tokens[0], tokens[1]);
    let ada = document.client(&tokens[0]);
    document
        .run(&format!("await open('ada', () => '{}')", tokens[0]))
        .await;
    let held = document.start_call(&ada).await;
    document.run("states.length = 0").await;

    let change = format!("await open('ada again', async () => '{}')", tokens[1]);
    document.run(&change).await;

    assert_eq!(whoami(&ada).await, "ada again");
    document.run("release()").await;
    assert_eq!(with_deadline("the call", held).await.unwrap(), "ada");
    assert_eq!(
        document.run("return [...states, ...aborted]").await,
        json!([])
    );
}

#[tokio::test]
async fn a_function_that_returns_the_token_of_another_user_ends_the_session() {
    let document = Document::with_signed_tokens().await;
    // Its token is renewed in the middle of its lifetime.
    let issuer = TokenIssuer::start("ada", Duration::from_secs(10)).await;
    let ada = document.client(&issuer.long_lived_token());
    let bob = TokenIssuer::token_of("bob");
    let function = format!(
        "const tokens = [await (await fetch('{}')).text()];
         await open('the user', () => tokens.pop() ?? '{bob}')",
        issuer.url()
    );
    document.run(&function).await;
    assert_eq!(whoami(&ada).await, "the user");
    let held = document.start_call(&ada).await;

    let ended = with_deadline("the renewal", held).await.unwrap();

    assert!(ended.contains(ENDED), "{ended}");
    assert!(whoami(&ada).await.contains(GONE));
    document.browser.wait_for("aborted.length === 1").await;
    let bob = document.client(&bob);
    bob.call_when_registered("whoami", json!({})).await;
    assert_eq!(whoami(&bob).await, "the user");
}

#[tokio::test]
async fn two_fixed_tokens_have_separate_handlers_and_a_warning() {
    let document = Document::with_app(TestBed::bridge().await).await;
    for (user, token) in [("ada", ADA), ("bob", BOB)] {
        document
            .run(&format!("await open('{user}', '{token}')"))
            .await;
    }
    assert_eq!(whoami(&document.client(ADA)).await, "ada");
    assert_eq!(whoami(&document.client(BOB)).await, "bob");
    let mut warnings = document.browser.console().await;
    warnings.retain(|message| message.contains("different tokens"));
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("disconnect()") && warnings[0].contains("sessionName"));
}
