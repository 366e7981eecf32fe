//! The tools of a user interface: their handlers and results.

use std::sync::Arc;
use std::time::Duration;

use page_tools::clean::{clean, keep_interactive};
use page_tools::page_text::{Format, Page, PageText, View, is_short, write_changes, write_page};
use page_tools::{ActionCode, Limits, Report, action, query};
use serde_json::{Map, Value, json};
use tokio::sync::{Mutex, MutexGuard};
use uuid::Uuid;

use super::arguments::{self, WantedView};
use super::driver::{ActionFailure, Driver, TreeOptions};
use super::executor::{EVERYTHING, Run};
use super::values::{from_page, to_page};
use crate::app::McpWeb;
use crate::call::Call;
use crate::content::{Content, ToolResult};
use crate::error::CallError;
use crate::handle::Handle;
use crate::status::ConnectError;
use crate::tool::Tool;

/// How long a call waits for earlier calls.
const MAX_WAIT: Duration = Duration::from_secs(60);
/// Maximum number of elements that `page_snapshot` accepts.
const MAX_ELEMENTS: usize = 1000;
/// Maximum number of elements that `page_query` returns, and its default.
const MAX_MATCHES: usize = 200;
const DEFAULT_MATCHES: usize = 50;

/// The names, descriptions and schemas of the tools: a copy of those of web pages in
/// `web-sdk/js/page-tools/tool-definitions.ts`. A page downloads its source, which is smaller than the
/// JSON. The test `native_programs_have_the_tools_of_web_pages` in
/// `e2e/xtask/tests/checks/page_tools.rs` compares the two.
const DEFINITIONS: &str = include_str!("tools.json");

/// Options for how AI clients may use a user interface.
#[derive(Clone, Debug, PartialEq)]
pub struct PageToolsOptions {
    /// Whether AI clients may look but not act.
    pub read_only: bool,
    /// Whether the tool `page_screenshot` is offered.
    pub has_pictures: bool,
    /// The default format of the page.
    pub format: Format,
    /// A prefix for the name of each tool.
    pub prefix: String,
    /// The limits.
    pub limits: Limits,
}

impl Default for PageToolsOptions {
    fn default() -> Self {
        Self {
            read_only: false,
            has_pictures: false,
            format: Format::Outline,
            prefix: String::new(),
            limits: Limits::default(),
        }
    }
}

/// The page tools of a user interface. Dropping this has no effect.
#[derive(Clone, Debug)]
pub struct PageTools(Vec<Handle>);

impl PageTools {
    /// Offers a user interface to AI clients: `navigate`, `interact`, `get_state`, `get_pages`,
    /// `page_snapshot` and `page_query`, and `page_screenshot` if pictures are enabled.
    pub fn enable(app: &McpWeb, driver: impl Driver, options: PageToolsOptions) -> Self {
        let definitions: Vec<Value> = serde_json::from_str(DEFINITIONS).unwrap_or_default();
        let call_timeout = Duration::from_secs_f64(options.limits.call_timeout_ms / 1000.0);
        let shared = Arc::new(Shared {
            driver: Mutex::new(driver),
            options,
        });
        let tools = definitions.into_iter().filter_map(|definition| {
            let Value::Object(mut definition) = definition else {
                return None;
            };
            let is_reading = definition.remove("isReading") == Some(Value::Bool(true));
            let name = definition.remove("name")?.as_str()?.to_owned();
            let options = &shared.options;
            let is_offered = is_reading || !options.read_only;
            if !is_offered || (name == "page_screenshot" && !options.has_pictures) {
                return None;
            }
            let mut tool = Tool::new(format!("{}{name}", options.prefix));
            for (field, value) in definition {
                tool = tool.field(&field, value);
            }
            let tool = tool.timeout(call_timeout + MAX_WAIT);
            let shared = shared.clone();
            Some(app.add_tool(tool, move |arguments: Value, call: Call| {
                let (shared, name) = (shared.clone(), name.clone());
                async move { shared.call(&name, arguments, &call).await }
            }))
        });
        Self(tools.collect())
    }

    /// Waits until AI clients can use the tools.
    ///
    /// # Errors
    /// Fails if the bridge rejects one of them.
    pub async fn ready(&self) -> Result<(), ConnectError> {
        for tool in &self.0 {
            tool.registered().await?;
        }
        Ok(())
    }

    /// Removes the tools. Completed actions are not undone.
    pub fn remove(&self) {
        for tool in &self.0 {
            tool.remove();
        }
    }
}

struct Shared<D> {
    driver: Mutex<D>,
    options: PageToolsOptions,
}

impl<D: Driver> Shared<D> {
    async fn call(
        &self,
        tool: &str,
        arguments: Value,
        call: &Call,
    ) -> Result<ToolResult, CallError> {
        match tool {
            "navigate" => self.navigate(arguments, call).await,
            "interact" => {
                let list = arguments.get("actions").cloned().unwrap_or_default();
                self.run(&list, &arguments, call, |message| message).await
            }
            "get_state" => self.state(call).await,
            "get_pages" => self.pages(call).await,
            "page_snapshot" => self.snapshot(&arguments, call).await,
            "page_query" => self.query(&arguments, call).await,
            _ => self.screenshot(&arguments, call).await,
        }
    }

    /// Waits until earlier calls have ended. A call that is cancelled or waits too long has no
    /// effect.
    async fn turn(&self, call: &Call) -> Result<MutexGuard<'_, D>, CallError> {
        tokio::select! {
            driver = self.driver.lock() => Ok(driver),
            reason = call.cancelled() => Err(CallError::new(reason)),
            () = tokio::time::sleep(MAX_WAIT) => { // sleep: the limit of the wait
                let message = "the page is busy with another call of page tools for more than 60 s: nothing was done, try again";
                Err(CallError::new(message).data(json!({ "reason": "PageBusy" })))
            }
        }
    }

    async fn navigate(&self, arguments: Value, call: &Call) -> Result<ToolResult, CallError> {
        let mut action = Map::new();
        action.insert("type".to_owned(), "navigate".into());
        for field in ["pageId", "input"] {
            if let Some(value) = arguments.get(field) {
                action.insert(field.to_owned(), value.clone());
            }
        }
        let list = json!([action]);
        let explain = |message: String| message.replace("/actions/0: ", "");
        self.run(&list, &arguments, call, explain).await
    }

    /// Runs actions when earlier calls have ended. Malformed actions are rejected immediately.
    async fn run(
        &self,
        list: &Value,
        arguments: &Value,
        call: &Call,
        explain: impl Fn(String) -> String,
    ) -> Result<ToolResult, CallError> {
        let view = arguments::view(arguments)?;
        let format = arguments::format(arguments, self.options.format)?;
        let on_error = arguments::on_error(arguments)?;
        let limits = &self.options.limits;
        let actions = action::parse(&to_page(list), limits)
            .map_err(|error| arguments::invalid(error.reason(), explain(error.message())))?;
        let mut driver = self.turn(call).await?;
        let before = match view {
            WantedView::Shown(View::Auto | View::Changes) => {
                Some(self.look(&mut *driver, TreeOptions::default()).await?)
            }
            _ => None,
        };
        let run = Run {
            driver: &mut *driver,
            actions,
            fields: list.as_array().map(Vec::as_slice).unwrap_or_default(),
            on_error,
            limits,
            call,
        };
        let report = run.run().await;
        let shown = match (view, &report.navigated) {
            (WantedView::Shown(_), Some(_)) => WantedView::Shown(View::Page),
            _ => view,
        };
        let mut log = String::new();
        report.write(&mut log);
        let facts = facts_of(&report);
        let looked = match shown {
            WantedView::Shown(shown) => {
                let page = self.look(&mut *driver, TreeOptions::default()).await;
                Some(page.map(|page| (page, shown)))
            }
            WantedView::None => None,
        };
        let result = match looked {
            Some(Ok((page, shown))) => {
                self.page_result(&page, shown, before, format, arguments, call, &log, facts)
            }
            unseen => {
                let mut texts = vec![log.trim_end().to_owned()];
                // Completed actions are not undone, so the log is the answer.
                texts.extend(unseen.and_then(Result::err).map(|error| error.to_string()));
                let page = driver.page().await;
                let text = PageText::default();
                result(texts, &page, "none", &text, facts, None)
            }
        };
        match report.failures() {
            0 => Ok(result),
            _ => Err(CallError::from_result(log, result)),
        }
    }

    /// Returns the current page of the user interface.
    async fn look(&self, driver: &mut D, options: TreeOptions) -> Result<Page, CallError> {
        let limits = &self.options.limits;
        let options = TreeOptions {
            limit: if options.limit == 0 {
                limits.max_elements
            } else {
                options.limit
            },
            ..options
        };
        let is_interactive = options.interactive;
        let tree = driver.tree(options).await.map_err(looking_failed)?;
        let mut nodes = clean(&tree.root, limits);
        if is_interactive {
            nodes = keep_interactive(nodes);
        }
        Ok(Page {
            info: driver.page().await,
            uncounted: tree.elements.saturating_sub(tree.root.count_elements()),
            nodes,
        })
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "they are what a result is made of"
    )]
    fn page_result(
        &self,
        page: &Page,
        view: View,
        before: Option<Page>,
        format: Format,
        arguments: &Value,
        call: &Call,
        log: &str,
        facts: Map<String, Value>,
    ) -> ToolResult {
        let limits = self.limits_for(call);
        let mark = Uuid::new_v4().simple().to_string()[..6].to_owned();
        let whole = write_page(page, format, &mark, &limits);
        let wants_page = view == View::Page || (view == View::Auto && is_short(&whole));
        let changes = before
            .filter(|_| !wants_page)
            .and_then(|before| write_changes(&before, page, &mark, &limits));
        let (view, text) = match changes {
            Some(changes) => ("changes", changes),
            None => ("page", whole),
        };
        // Programs that request a format also get the page as a field.
        let is_program = call.client().is_none();
        let wants_field = is_program && arguments.get("format").is_some_and(Value::is_string);
        let field = wants_field.then(|| text.text.clone());
        let mut texts = Vec::new();
        if !log.is_empty() {
            texts.push(log.trim_end().to_owned());
        }
        texts.push(text.text.clone());
        result(texts, &page.info, view, &text, facts, field)
    }

    /// Returns the limits of a call: a client may accept less than the page allows.
    fn limits_for(&self, call: &Call) -> Limits {
        let mut limits = self.options.limits.clone();
        let client = call.client().and_then(|client| client.limits);
        if let Some(most) = client.and_then(|limits| limits.max_result_bytes) {
            // The log and the JSON around the text also need space.
            limits.max_page_bytes = limits.max_page_bytes.min(most / 5 * 3).max(1024);
        }
        limits
    }

    async fn snapshot(&self, arguments: &Value, call: &Call) -> Result<ToolResult, CallError> {
        let format = arguments::format(arguments, self.options.format)?;
        let standard = self.options.limits.max_elements;
        let options = TreeOptions {
            within: arguments::reference(arguments, "within").map(str::to_owned),
            limit: arguments::count(arguments, "maxElements", standard, MAX_ELEMENTS)?,
            interactive: arguments.get("interactive") == Some(&Value::Bool(true)),
            every_text: false,
        };
        let mut driver = self.turn(call).await?;
        let page = self.look(&mut *driver, options).await?;
        let facts = facts_of(&Report::default());
        Ok(self.page_result(&page, View::Page, None, format, arguments, call, "", facts))
    }

    async fn query(&self, arguments: &Value, call: &Call) -> Result<ToolResult, CallError> {
        let format = arguments::format(arguments, self.options.format)?;
        let find = arguments::find(arguments)?;
        let limit = arguments::count(arguments, "limit", DEFAULT_MATCHES, MAX_MATCHES)?;
        let options = TreeOptions {
            within: arguments::reference(arguments, "within").map(str::to_owned),
            limit: EVERYTHING,
            ..TreeOptions::default()
        };
        let mut driver = self.turn(call).await?;
        let mut page = self.look(&mut *driver, options).await?;
        let (nodes, count) = query::filter(&page.nodes, &find, limit);
        page.nodes = nodes;
        page.uncounted = 0;
        let log = match count {
            _ if count > limit => format!("{count} elements match, the first {limit} are shown\n"),
            1 => "1 element matches\n".to_owned(),
            _ => format!("{count} elements match\n"),
        };
        let mut facts = facts_of(&Report::default());
        facts.insert("matches".to_owned(), count.into());
        Ok(self.page_result(
            &page,
            View::Page,
            None,
            format,
            arguments,
            call,
            &log,
            facts,
        ))
    }

    async fn state(&self, call: &Call) -> Result<ToolResult, CallError> {
        let mut driver = self.turn(call).await?;
        let state = driver.state().await;
        let page_id = driver.page().await.page_id;
        Ok(value_result(json!({
            "pageId": page_id,
            "state": state.state,
            "global": state.global,
            "requests": state.requests,
        })))
    }

    async fn pages(&self, call: &Call) -> Result<ToolResult, CallError> {
        let mut driver = self.turn(call).await?;
        let pages = driver.pages().await;
        let pages = pages
            .iter()
            .map(|page| json!({ "pageId": page.page_id, "title": page.title }));
        Ok(value_result(json!({ "pages": pages.collect::<Vec<_>>() })))
    }

    async fn screenshot(&self, arguments: &Value, call: &Call) -> Result<ToolResult, CallError> {
        let mut driver = self.turn(call).await?;
        let reference = arguments::reference(arguments, "ref");
        let picture = driver.screenshot(reference).await;
        let picture = picture.map_err(looking_failed)?;
        Ok(ToolResult::new([Content::image(
            &picture.bytes,
            &picture.mime_type,
        )]))
    }
}

/// Returns the error for a call that could not look at the user interface.
fn looking_failed(failure: ActionFailure) -> CallError {
    let message = failure.0.message;
    match failure.0.code {
        ActionCode::TargetStale | ActionCode::TargetNotFound => {
            arguments::invalid("RefUnknown", message)
        }
        ActionCode::ActionTimeout => {
            CallError::new(message).data(json!({ "reason": ActionCode::ActionTimeout.name() }))
        }
        _ => CallError::new(message),
    }
}

/// Returns the fields of a report for programs.
fn facts_of(report: &Report) -> Map<String, Value> {
    let log: Vec<_> = report
        .log
        .iter()
        .map(|entry| from_page(&entry.to_value()))
        .collect();
    let mut facts = Map::new();
    facts.insert("skipped".to_owned(), report.skipped.into());
    facts.insert("log".to_owned(), log.into());
    if let Some(navigated) = &report.navigated {
        facts.insert("navigated".to_owned(), navigated.clone().into());
    }
    facts
}

fn result(
    texts: Vec<String>,
    page: &page_tools::page_text::PageInfo,
    view: &str,
    text: &PageText,
    facts: Map<String, Value>,
    field: Option<String>,
) -> ToolResult {
    let mut about = Map::new();
    about.insert("pageId".to_owned(), page.page_id.clone().into());
    if let Some(url) = &page.url {
        about.insert("url".to_owned(), url.clone().into());
    }
    about.insert("title".to_owned(), page.title.clone().into());
    about.insert("view".to_owned(), view.into());
    about.insert("elements".to_owned(), text.elements.into());
    about.insert("shown".to_owned(), text.shown.into());
    about.insert("truncated".to_owned(), text.is_truncated().into());
    about.extend(facts);
    if let Some(field) = field {
        about.insert("page".to_owned(), field.into());
    }
    let mut meta = Map::new();
    meta.insert("mcp-web/page".to_owned(), about.into());
    ToolResult::new(texts.into_iter().map(Content::text)).meta(meta)
}

fn value_result(value: Value) -> ToolResult {
    let text = Content::text(crate::json::text(&value));
    let Value::Object(object) = value else {
        return ToolResult::new([text]);
    };
    ToolResult::new([text]).structured(object)
}
