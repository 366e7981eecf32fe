//! Performs the effects of the SDK's core and passes events to it, like the SDK's runtime in a
//! browser.

use bridge_protocol::CallId;
use mcp_web_sdk::frames::PageFrames;
use web_sdk_core::{
    CallEnd, ClientRequest, Effect, PageVisibility, Report, StartedCall, Status, Token,
};

use super::World;
use super::event::Event;
use super::link::{Direction, Packet};
use super::tab::{NAVIGATE, READ, TOOLS};
use super::task::Task;
use crate::sdk_page::text_outcome;

/// The close codes of `web-sdk/wasm/src/socket.rs`.
const NORMAL_CLOSE: u16 = 1000;
const ABANDONED_CLOSE: u16 = 4000;

impl World {
    pub(super) fn run_task(&mut self, index: usize, task: Task) {
        let random = self.random.fraction();
        let clock = self.clock_of(index);
        let tab = &mut self.tabs[index];
        tab.page.set_now(clock);
        match task {
            Task::Token if self.faults_enabled && self.random.percent(5) => {
                tab.page.token_failed("no answer", random);
            }
            Task::Token => {
                let token = self.token();
                self.tabs[index].page.token_ready(Token(token));
            }
            Task::Opened(link) if tab.link == Some(link) => tab.page.socket_opened(),
            Task::Frame(link, text) if tab.link == Some(link) => {
                let message = tab.frames.decode(&text);
                if let Some(message) = message.expect("the bridge sends valid messages") {
                    tab.page.message_arrived(message);
                }
            }
            Task::Closed(link, code) if tab.link == Some(link) => {
                tab.link = None;
                tab.page.socket_closed(code, "", random);
            }
            Task::Timer(timer) if tab.timer == timer => tab.page.timer_fired(random),
            Task::Finish(call, bytes) => tab.page.handler_finished(call, text_outcome(bytes)),
            Task::HandOver(call, arms) => {
                let state = if arms { "{}" } else { "null" };
                tab.page.hand_over_requested(call, state.to_owned(), arms);
            }
            Task::Navigate(call) if tab.running.contains(&call) => {
                self.trace(|| format!("{call} loads another document in tab {index}"));
                self.load_next(index);
            }
            Task::Ask(call) if tab.running.contains(&call) => {
                let key = format!("k{}", self.random.below(1_000));
                let request = ClientRequest {
                    key,
                    method: "roots/list".to_owned(),
                    params: "{}".to_owned(),
                };
                tab.page.client_requested(call, request, 2);
            }
            Task::Freeze(_) if !self.faults_enabled => {}
            Task::Freeze(span) => {
                tab.page.froze();
                self.perform_all(index);
                self.pause_tab(index, span);
            }
            Task::Ended => tab.page.task_ended(),
            Task::Resume => tab.page.visibility_changed(PageVisibility::default()),
            Task::UserActs => tab.page.user_acted(),
            Task::Connect => {
                tab.failed = None;
                tab.page.connect();
            }
            // The socket, the timer or the call no longer exists.
            Task::Opened(_)
            | Task::Frame(..)
            | Task::Closed(..)
            | Task::Timer(_)
            | Task::Navigate(_)
            | Task::Ask(_) => {}
        }
    }

    /// Performs all pending effects, even while the document is about to be unloaded.
    pub(super) fn perform_all(&mut self, index: usize) {
        while let Some(effect) = self.tabs[index].page.next_effect() {
            self.perform(index, effect);
        }
    }

    pub(super) fn perform(&mut self, index: usize, effect: Effect<String>) {
        let document = self.tabs[index].document;
        let later = |task| Event::TabTask {
            tab: index,
            document,
            task,
        };
        match effect {
            Effect::FetchToken => {
                let span = self.random.span(2_000);
                self.queue.schedule_after(span, later(Task::Token));
            }
            Effect::OpenSocket => {
                self.close_link(index, ABANDONED_CLOSE);
                let link = self.open_link(index);
                let tab = &mut self.tabs[index];
                tab.link = Some(link);
                tab.frames = PageFrames::default();
            }
            Effect::Send(message) => {
                let tab = &mut self.tabs[index];
                if let Some(link) = tab.link {
                    for frame in tab.frames.encode(message) {
                        self.send(link, Direction::ToBridge, Packet::Frame(frame));
                    }
                }
            }
            Effect::CloseSocket => self.close_link(index, NORMAL_CLOSE),
            Effect::AbandonSocket => self.close_link(index, ABANDONED_CLOSE),
            Effect::SetTimer(ms) => {
                let timer = self.new_id();
                self.tabs[index].timer = timer;
                self.queue
                    .schedule_after(ms.into(), later(Task::Timer(timer)));
            }
            Effect::StopTimer => self.tabs[index].timer = 0,
            Effect::ScheduleFlush => self.tabs[index].flush_requested = true,
            Effect::ScheduleTask => self.tabs[index].task_scheduled = true,
            Effect::StartCall(call) => {
                let clock = self.clock_of(index);
                let page = &mut self.tabs[index].page;
                page.set_now(clock);
                if let Some(call) = page.confirm_start(call) {
                    self.start_handler(index, call);
                }
            }
            Effect::Report(report) => self.on_report(index, report),
        }
    }

    fn close_link(&mut self, index: usize, code: u16) {
        if let Some(link) = self.tabs[index].link.take() {
            self.send(link, Direction::ToBridge, Packet::Close(code));
        }
    }

    fn start_handler(&mut self, index: usize, call: StartedCall<String>) {
        let now = self.queue.now();
        self.trace(|| format!("tab {index} executes {}", call.request.call));
        let is_continued = call.request.hand_overs > 0;
        self.checker
            .call_started(&call.request.call, is_continued, now);
        let kind = self.random.below(10);
        let span = self
            .random
            .span(if self.faults_enabled { 12_000 } else { 1_000 });
        let bytes = if self.random.percent(1) { 600_000 } else { 10 };
        let tab = &mut self.tabs[index];
        tab.running.insert(call.request.call.clone());
        let document = tab.document;
        let tool = TOOLS[call.definition.0 as usize];
        if tool == READ {
            self.checker.call_repeatable(&call.request.call);
            if self.random.percent(80) {
                let id = call.request.call;
                let tab = &mut self.tabs[index];
                tab.running.insert(id.clone());
                return tab.page.handler_finished(id, text_outcome(10));
            }
        }
        let id = call.request.call;
        self.plan_hand_over(index, &id);
        let tab = &mut self.tabs[index];
        let task = match tool {
            "ask" => Task::Ask(id),
            // A document that continues the call may load yet another one.
            NAVIGATE if !is_continued || self.random.percent(50) => Task::Navigate(id),
            _ => Task::Finish(id, bytes),
        };
        match kind {
            // The handler blocks the page's thread, and returns right afterwards.
            0..3 => {
                tab.busy_until = now + span;
                tab.tasks.push_front(task);
            }
            // The handler never ends.
            3 if self.faults_enabled => {}
            _ => {
                let tab = index;
                self.queue.schedule_after(
                    span,
                    Event::TabTask {
                        tab,
                        document,
                        task,
                    },
                );
            }
        }
    }

    /// Arms the hand-over of a call in most cases, and disarms it later in few.
    fn plan_hand_over(&mut self, index: usize, call: &CallId) {
        if self.random.percent(40) {
            return;
        }
        let task = Task::HandOver(call.clone(), true);
        self.tabs[index].tasks.push_front(task);
        if self.random.percent(15) {
            let event = Event::TabTask {
                tab: index,
                document: self.tabs[index].document,
                task: Task::HandOver(call.clone(), false),
            };
            let span = self.random.span(4_000);
            self.queue.schedule_after(span, event);
        }
    }

    fn on_report(&mut self, index: usize, report: Report<String>) {
        let tab = &mut self.tabs[index];
        match report {
            Report::Status(status) => {
                self.trace(|| format!("tab {index} is {status:?}"));
                let tab = &mut self.tabs[index];
                tab.connected = status == Status::Connected;
                tab.failed = match status {
                    Status::Failed(failure) => Some(failure.code.into_owned()),
                    _ => None,
                };
            }
            Report::CallEnded { call, outcome } => {
                assert!(
                    tab.running.remove(&call),
                    "{call} ends in tab {index} but does not run there"
                );
                if outcome == CallEnd::Finished {
                    self.trace(|| format!("tab {index} has finished {call}"));
                }
            }
            Report::ClientAnswered { call, .. } => {
                let span = self.random.span(2_000);
                let document = tab.document;
                let task = Task::Finish(call, 10);
                let tab = index;
                self.queue.schedule_after(
                    span,
                    Event::TabTask {
                        tab,
                        document,
                        task,
                    },
                );
            }
            Report::Warning(warning) => self.trace(|| format!("tab {index} warns: {warning}")),
            _ => {}
        }
    }

    /// Ends every handler that still runs.
    pub(super) fn finish_handlers(&mut self) {
        for index in 0..self.tabs.len() {
            let running: Vec<CallId> = self.tabs[index].running.iter().cloned().collect();
            for call in running {
                self.tabs[index].tasks.push_back(Task::Finish(call, 10));
            }
            self.run_tab(index);
        }
    }
}
