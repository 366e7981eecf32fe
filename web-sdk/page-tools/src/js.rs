//! The interface for JavaScript: the driver of a page passes trees and events as objects, and gets
//! steps and texts. The names of members are those of `web-sdk/js/page-tools`.

pub(crate) mod convert;
mod decode;

use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsError, JsValue};

use crate::action;
use crate::clean::{clean, keep_interactive};
use crate::interaction::{Interaction, OnError, Step};
use crate::page_text::{
    Format, Page, PageInfo, PageText, View, is_short, write_changes, write_page,
};
use crate::query;
use crate::report::{Report, number};
use crate::text::join_text;
use crate::value::{ObjectBuilder, Value};
use convert::{from_js, to_js};

/// The actions of one call.
#[wasm_bindgen]
pub struct Actions {
    interaction: Interaction,
}

#[wasm_bindgen]
impl Actions {
    /// Parses the actions of a call. `continues` says whether the list continues after a failed
    /// action.
    ///
    /// # Errors
    ///
    /// Throws an error whose message is the reason and a description:
    /// `ActionMalformed /actions/2: …`.
    #[wasm_bindgen(constructor)]
    pub fn new(
        actions: &JsValue,
        limits: &JsValue,
        confirms: bool,
        continues: bool,
        now: f64,
    ) -> Result<Actions, JsError> {
        let limits = decode::limits(&from_js(limits));
        let actions = action::parse(&from_js(actions), &limits)
            .map_err(|error| JsError::new(&join_text![error.reason(), " ", error.message()]))?;
        let on_error = if continues {
            OnError::Continue
        } else {
            OnError::Stop
        };
        Ok(Self {
            interaction: Interaction::new(actions, limits, confirms, now).on_error(on_error),
        })
    }

    /// Takes an event and returns the next step.
    pub fn next(&mut self, event: &JsValue, now: f64) -> JsValue {
        let event = decode::event(&from_js(event));
        let step = self.interaction.next(event, now);
        to_js(&encode_step(&step))
    }

    /// Returns when the time limit of the action or of the call ends.
    pub fn deadline(&self) -> f64 {
        self.interaction.deadline()
    }

    /// Stops the list before its next action.
    pub fn cancel(&mut self) {
        self.interaction.cancel();
    }

    /// Returns the report of the actions so far.
    pub fn report(&self) -> JsValue {
        to_js(&encode_report(self.interaction.report()))
    }

    /// Returns how many actions failed.
    pub fn failures(&self) -> usize {
        self.interaction.report().failures()
    }

    /// Returns the report for the next document if this document ends now.
    #[wasm_bindgen(js_name = reportIfDocumentEnds)]
    pub fn report_if_document_ends(&self) -> JsValue {
        to_js(&self.interaction.report_if_document_ends().to_value())
    }
}

/// Returns the report of an earlier document that navigated to this one.
#[wasm_bindgen(js_name = resumedReport)]
pub fn resumed_report(state: &JsValue, navigated: String) -> JsValue {
    to_js(&encode_report(&Report::from_value(
        &from_js(state),
        navigated,
    )))
}

/// A page at one moment.
#[wasm_bindgen]
pub struct PageView {
    page: Page,
}

#[wasm_bindgen]
impl PageView {
    /// Takes a tree, `{ root, elements, shown }`, and the identity of the page,
    /// `{ pageId, url, title }`.
    #[wasm_bindgen(constructor)]
    pub fn new(tree: &JsValue, info: &JsValue, limits: &JsValue) -> PageView {
        let tree = from_js(tree);
        let info = from_js(info);
        let root = tree.get("root").map(decode::node).unwrap_or_default();
        let count = |name| {
            tree.get(name)
                .and_then(Value::as_number)
                .unwrap_or_default()
        };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a page has no 2^31 elements"
        )]
        let uncounted = (count("elements") - count("shown")).max(0.0) as usize;
        Self {
            page: Page {
                info: PageInfo {
                    page_id: info.text("pageId").unwrap_or_default(),
                    url: info.text("url"),
                    title: info.text("title").unwrap_or_default(),
                },
                nodes: clean(&root, &decode::limits(&from_js(limits))),
                uncounted,
            },
        }
    }

    /// Keeps the controls and their ancestors.
    #[wasm_bindgen(js_name = keepInteractive)]
    pub fn keep_interactive(&mut self) {
        self.page.nodes = keep_interactive(std::mem::take(&mut self.page.nodes));
    }

    /// Keeps the elements that match `find`, and returns the number of matches.
    pub fn filter(&mut self, find: &JsValue, limit: usize) -> usize {
        let find = crate::Find::from_value(&from_js(find));
        let (nodes, count) = query::filter(&self.page.nodes, &find, limit);
        self.page.nodes = nodes;
        self.page.uncounted = 0;
        count
    }

    /// Writes the page. `view` is `auto`, `page` or `changes`. `before` is the page before the
    /// actions, if it is known.
    pub fn write(
        &self,
        view: &str,
        before: Option<PageView>,
        format: &str,
        mark: &str,
        limits: &JsValue,
    ) -> JsValue {
        let limits = decode::limits(&from_js(limits));
        let format = match format {
            "markdown" => Format::Markdown,
            _ => Format::Outline,
        };
        let view = match view {
            "auto" => View::Auto,
            "changes" => View::Changes,
            _ => View::Page,
        };
        let page = write_page(&self.page, format, mark, &limits);
        let wants_page = view == View::Page || (view == View::Auto && is_short(&page));
        let changes = before
            .filter(|_| !wants_page)
            .and_then(|before| write_changes(&before.page, &self.page, mark, &limits));
        let (view, text) = match changes {
            Some(changes) => ("changes", changes),
            None => ("page", page),
        };
        to_js(&encode_text(view, &text))
    }
}

fn encode_text(view: &str, text: &PageText) -> Value {
    ObjectBuilder::default()
        .with("text", text.text.clone())
        .with("view", view)
        .with("elements", number(text.elements))
        .with("shown", number(text.shown))
        .with("truncated", text.is_truncated())
        .build()
}

fn encode_report(report: &Report) -> Value {
    let mut text = String::new();
    report.write(&mut text);
    let log: Vec<_> = report.log.iter().map(crate::LogEntry::to_value).collect();
    ObjectBuilder::default()
        .with("text", text)
        .with("log", log)
        .with("skipped", number(report.skipped))
        .with("isError", report.failures() > 0)
        .with_option("navigated", report.navigated.clone())
        .build()
}

fn with_targets(
    step: ObjectBuilder,
    index: usize,
    reference: &Option<String>,
    to: &Option<String>,
) -> ObjectBuilder {
    step.with("index", number(index))
        .with_option("ref", reference.clone())
        .with_option("to", to.clone())
}

fn encode_step(step: &Step) -> Value {
    let kind = |kind: &str| ObjectBuilder::default().with("kind", kind);
    match step {
        Step::Look { every_text } => kind("look").with("everyText", *every_text),
        Step::FindFocus => kind("findFocus"),
        Step::Inspect { index, reference } => kind("inspect")
            .with("index", number(*index))
            .with("ref", reference.clone()),
        Step::Confirm {
            index,
            reference,
            to,
        } => with_targets(kind("confirm"), *index, reference, to),
        Step::Apply {
            index,
            reference,
            to,
        } => with_targets(kind("apply"), *index, reference, to),
        Step::Rest { is_brief } => kind("rest").with("isBrief", *is_brief),
        Step::ReadBack { index, reference } => kind("readBack")
            .with("index", number(*index))
            .with("ref", reference.clone()),
        Step::End => kind("end"),
        Step::AwaitChange { ms } => kind("awaitChange").with("ms", *ms),
        Step::Done => kind("done"),
    }
    .build()
}
