//! The lines between tabs and the bridge: they delay, repeat, and break after any byte.

use bridge::simulation::BROKEN;

use super::tab::Task;
use super::world::{Event, World};

/// What travels on a line.
#[derive(Clone, Debug)]
pub(super) enum Parcel {
    /// The page knocks, and the bridge opens.
    Open,
    Frame(String),
    /// A close frame with this code.
    Close(u16),
}

impl Parcel {
    /// On the wire: the header of a WebSocket frame is counted as six bytes.
    fn bytes(&self) -> usize {
        match self {
            Parcel::Frame(text) => text.len() + 6,
            Parcel::Open | Parcel::Close(_) => 8,
        }
    }
}

/// Where to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    ToBridge,
    ToPage,
}

/// One direction of a line.
#[derive(Debug, Default)]
struct Direction {
    /// When the last parcel arrives: none overtakes another.
    last: u64,
    /// The line breaks after so many bytes more.
    cut_after: Option<usize>,
}

/// One TCP connection.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) tab: usize,
    pub(super) document: u64,
    session: String,
    latency: u64,
    /// Nothing arrives any more, in either direction.
    pub(super) dead: bool,
    /// What is sent arrives from then on.
    stalled_until: u64,
    to_bridge: Direction,
    to_page: Direction,
    /// The bridge has it open.
    pub(super) open_at_bridge: bool,
}

impl World {
    pub(super) fn open_line(&mut self, tab: usize) -> u64 {
        let id = self.new_id();
        let latency = self.random.one_of(&[1, 5, 20, 20, 80, 400]);
        let line = Line {
            tab,
            document: self.tabs[tab].document,
            session: self.tabs[tab].session.clone(),
            latency,
            dead: false,
            stalled_until: self.stalled_until,
            to_bridge: Direction::default(),
            to_page: Direction::default(),
            open_at_bridge: false,
        };
        self.lines.insert(id, line);
        self.summary.connections += 1;
        self.send(id, Way::ToBridge, Parcel::Open);
        id
    }

    /// Puts a parcel on its way.
    pub(super) fn send(&mut self, id: u64, way: Way, parcel: Parcel) {
        let now = self.agenda.now();
        let repeated = self.is_repeated(&parcel);
        let slow = if self.faulty && self.random.percent(3) {
            self.random.span(6_000)
        } else {
            0
        };
        let Some(line) = self.lines.get_mut(&id).filter(|line| !line.dead) else {
            return;
        };
        let latency = line.latency + slow;
        let direction = match way {
            Way::ToBridge => &mut line.to_bridge,
            Way::ToPage => &mut line.to_page,
        };
        if let Some(left) = &mut direction.cut_after {
            match left.checked_sub(parcel.bytes()) {
                Some(rest) => *left = rest,
                None => return self.cut(id, "in the middle of a frame"),
            }
        }
        let arrives = (now.max(line.stalled_until) + latency).max(direction.last);
        direction.last = arrives;
        for _ in 0..=u64::from(repeated) {
            let parcel = parcel.clone();
            self.agenda.at(
                arrives,
                Event::Arrives {
                    line: id,
                    way,
                    parcel,
                },
            );
        }
    }

    /// TCP and WebSocket repeat nothing, but who sits between may. What the protocol promises then
    /// is that no call runs twice. Repeated parts and a second `authenticate` break its rules, and
    /// close the connection for good: those are not repeated here.
    fn is_repeated(&mut self, parcel: &Parcel) -> bool {
        let Parcel::Frame(text) = parcel else {
            return false;
        };
        let may = text.starts_with('{') && !text.starts_with(r#"{"type":"authenticate"#);
        may && self.repeating && self.faulty && self.random.percent(10)
    }

    pub(super) fn arrives(&mut self, id: u64, way: Way, parcel: Parcel) {
        let Some(line) = self.lines.get(&id).filter(|line| !line.dead) else {
            return;
        };
        let (tab, document) = (line.tab, line.document);
        if matches!(parcel, Parcel::Frame(_)) {
            self.summary.frames += 1;
        }
        match (way, parcel) {
            (Way::ToBridge, Parcel::Open) => self.knocks(id),
            (Way::ToBridge, Parcel::Frame(text)) => {
                let at = self.at();
                self.in_bridge(|bridge| bridge.frame_arrived(id, &text, at));
            }
            (Way::ToBridge, Parcel::Close(code)) => self.bridge_hears_close(id, code),
            (Way::ToPage, Parcel::Open) => self.tab_task(tab, document, Task::Opened(id)),
            (Way::ToPage, Parcel::Frame(text)) => {
                self.tab_task(tab, document, Task::Frame(id, text));
            }
            (Way::ToPage, Parcel::Close(code)) => {
                self.tab_task(tab, document, Task::Closed(id, code));
                self.lines.remove(&id);
            }
        }
    }

    fn knocks(&mut self, id: u64) {
        let Some(line) = self.lines.get_mut(&id) else {
            return;
        };
        let Some(bridge) = &mut self.bridge else {
            return self.page_hears_break(id, 0);
        };
        bridge.connection_opened(id, &line.session);
        line.open_at_bridge = true;
        let within = self.config.authenticate_within.as_millis() as u64;
        self.agenda.after(within, Event::AuthenticationDue(id));
        self.send(id, Way::ToPage, Parcel::Open);
    }

    /// The line carries nothing any more. Each side notices in its own time, or not at all: then
    /// its timers do.
    pub(super) fn cut(&mut self, id: u64, why: &str) {
        let Some(line) = self.lines.get_mut(&id).filter(|line| !line.dead) else {
            return;
        };
        line.dead = true;
        self.trace(|| format!("line {id} is cut {why}"));
        let (bridge, page) = (self.notices(), self.notices());
        if let Some(after) = page {
            self.page_hears_break(id, after);
        }
        // A peer that sends nothing for three heartbeats is not there any more.
        let silence = 3 * self.config.heartbeat.as_millis() as u64;
        let after = bridge.unwrap_or(silence);
        self.agenda.after(after, Event::BridgeNotices(id));
    }

    fn notices(&mut self) -> Option<u64> {
        match self.random.below(10) {
            0..5 => Some(self.random.below(50)),
            5..8 => Some(self.random.span(10_000)),
            _ => None,
        }
    }

    /// The page's end of a line breaks.
    pub(super) fn page_hears_break(&mut self, id: u64, after: u64) {
        if let Some(line) = self.lines.get(&id) {
            let (tab, document) = (line.tab, line.document);
            let task = Task::Closed(id, BROKEN);
            self.agenda.after(
                after,
                Event::TabTask {
                    tab,
                    document,
                    task,
                },
            );
        }
    }

    pub(super) fn bridge_hears_close(&mut self, id: u64, code: u16) {
        let at = self.at();
        self.in_bridge(|bridge| bridge.connection_closed(id, code, at));
        if let Some(line) = self.lines.get_mut(&id) {
            line.open_at_bridge = false;
        }
    }

    /// The bridge's process is gone: every line breaks, and every page hears it soon.
    pub(super) fn reset_all_lines(&mut self) {
        let open: Vec<u64> = self.lines.keys().copied().collect();
        for id in open {
            let after = self.random.span(500);
            let line = self.lines.get_mut(&id).expect("it was there");
            line.open_at_bridge = false;
            if !std::mem::replace(&mut line.dead, true) {
                self.page_hears_break(id, after);
            }
        }
    }

    /// Nothing gets through for a while, on any line.
    pub(super) fn stall(&mut self, span: u64) {
        self.stalled_until = self.agenda.now() + span;
        for line in self.lines.values_mut() {
            line.stalled_until = self.stalled_until;
        }
    }

    /// Lines that are not broken will not break.
    pub(super) fn mend_lines(&mut self) {
        for line in self.lines.values_mut() {
            line.to_bridge.cut_after = None;
            line.to_page.cut_after = None;
        }
    }

    /// The line breaks after so many bytes more in one direction.
    pub(super) fn cut_after(&mut self, id: u64, way: Way, bytes: usize) {
        if let Some(line) = self.lines.get_mut(&id) {
            let direction = match way {
                Way::ToBridge => &mut line.to_bridge,
                Way::ToPage => &mut line.to_page,
            };
            direction.cut_after = Some(bytes);
        }
    }
}
