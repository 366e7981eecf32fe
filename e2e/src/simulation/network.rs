//! The lines between tabs and the bridge: they delay, repeat, and break after any byte.

use bridge::simulation::ABNORMAL_CLOSURE;

use super::tab::Task;
use super::world::{Event, World};

/// What travels on a line.
#[derive(Clone, Debug)]
pub(super) enum Packet {
    /// The page knocks, and the bridge opens.
    Open,
    Frame(String),
    /// A close frame with this code.
    Close(u16),
}

impl Packet {
    /// On the wire: the header of a WebSocket frame is counted as six bytes.
    fn bytes(&self) -> usize {
        match self {
            Packet::Frame(text) => text.len() + 6,
            Packet::Open | Packet::Close(_) => 8,
        }
    }
}

/// Where to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    ToBridge,
    ToPage,
}

/// One direction of a line.
#[derive(Debug, Default)]
struct DirectionState {
    /// When the last parcel arrives: none overtakes another.
    last: u64,
    /// The line breaks after so many bytes more.
    cut_after: Option<usize>,
}

/// One TCP connection.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) tab: usize,
    pub(super) document: u64,
    session: String,
    latency: u64,
    /// Nothing arrives any more, in either direction.
    pub(super) dead: bool,
    /// What is sent arrives from then on.
    stalled_until: u64,
    to_bridge: DirectionState,
    to_page: DirectionState,
    /// The bridge has it open.
    pub(super) open_at_bridge: bool,
}

impl World {
    pub(super) fn open_link(&mut self, tab: usize) -> u64 {
        let id = self.new_id();
        let latency = self.random.one_of(&[1, 5, 20, 20, 80, 400]);
        let line = Link {
            tab,
            document: self.tabs[tab].document,
            session: self.tabs[tab].session.clone(),
            latency,
            dead: false,
            stalled_until: self.stalled_until,
            to_bridge: DirectionState::default(),
            to_page: DirectionState::default(),
            open_at_bridge: false,
        };
        self.links.insert(id, line);
        self.summary.connections += 1;
        self.send(id, Direction::ToBridge, Packet::Open);
        id
    }

    /// Puts a parcel on its way.
    pub(super) fn send(&mut self, id: u64, way: Direction, parcel: Packet) {
        let now = self.queue.now();
        let repeated = self.is_repeated(&parcel);
        let slow = if self.faults_enabled && self.random.percent(3) {
            self.random.span(6_000)
        } else {
            0
        };
        let Some(line) = self.links.get_mut(&id).filter(|line| !line.dead) else {
            return;
        };
        let latency = line.latency + slow;
        let direction = match way {
            Direction::ToBridge => &mut line.to_bridge,
            Direction::ToPage => &mut line.to_page,
        };
        if let Some(left) = &mut direction.cut_after {
            match left.checked_sub(parcel.bytes()) {
                Some(rest) => *left = rest,
                None => return self.cut_link(id, "in the middle of a frame"),
            }
        }
        let arrives = (now.max(line.stalled_until) + latency).max(direction.last);
        direction.last = arrives;
        for _ in 0..=u64::from(repeated) {
            let parcel = parcel.clone();
            self.queue.schedule_at(
                arrives,
                Event::PacketArrives {
                    link: id,
                    direction: way,
                    packet: parcel,
                },
            );
        }
    }

    /// TCP and WebSocket repeat nothing, but who sits between may. What the protocol promises then
    /// is that no call runs twice. Repeated parts and a second `authenticate` break its rules, and
    /// close the connection for good: those are not repeated here.
    fn is_repeated(&mut self, parcel: &Packet) -> bool {
        let Packet::Frame(text) = parcel else {
            return false;
        };
        let may = text.starts_with('{') && !text.starts_with(r#"{"type":"authenticate"#);
        may && self.repeats_enabled && self.faults_enabled && self.random.percent(10)
    }

    pub(super) fn deliver(&mut self, id: u64, way: Direction, parcel: Packet) {
        let Some(line) = self.links.get(&id).filter(|line| !line.dead) else {
            return;
        };
        let (tab, document) = (line.tab, line.document);
        if matches!(parcel, Packet::Frame(_)) {
            self.summary.frames += 1;
        }
        match (way, parcel) {
            (Direction::ToBridge, Packet::Open) => self.accept_connection(id),
            (Direction::ToBridge, Packet::Frame(text)) => {
                let at = self.now();
                self.with_bridge(|bridge| bridge.frame_arrived(id, &text, at));
            }
            (Direction::ToBridge, Packet::Close(code)) => self.close_at_bridge(id, code),
            (Direction::ToPage, Packet::Open) => self.queue_task(tab, document, Task::Opened(id)),
            (Direction::ToPage, Packet::Frame(text)) => {
                self.queue_task(tab, document, Task::Frame(id, text));
            }
            (Direction::ToPage, Packet::Close(code)) => {
                self.queue_task(tab, document, Task::Closed(id, code));
                self.links.remove(&id);
            }
        }
    }

    fn accept_connection(&mut self, id: u64) {
        let Some(line) = self.links.get_mut(&id) else {
            return;
        };
        let Some(bridge) = &mut self.bridge else {
            return self.break_at_page(id, 0);
        };
        bridge.connection_opened(id, &line.session);
        line.open_at_bridge = true;
        let within = self.config.authenticate_within.as_millis() as u64;
        self.queue
            .schedule_after(within, Event::AuthenticationDue(id));
        self.send(id, Direction::ToPage, Packet::Open);
    }

    /// The line carries nothing any more. Each side notices in its own time, or not at all: then
    /// its timers do.
    pub(super) fn cut_link(&mut self, id: u64, why: &str) {
        let Some(line) = self.links.get_mut(&id).filter(|line| !line.dead) else {
            return;
        };
        line.dead = true;
        self.trace(|| format!("line {id} is cut {why}"));
        let (bridge, page) = (self.notice_delay(), self.notice_delay());
        if let Some(after) = page {
            self.break_at_page(id, after);
        }
        // A peer that sends nothing for three heartbeats is not there any more.
        let silence = 3 * self.config.heartbeat.as_millis() as u64;
        let after = bridge.unwrap_or(silence);
        self.queue
            .schedule_after(after, Event::BridgeNoticesBreak(id));
    }

    fn notice_delay(&mut self) -> Option<u64> {
        match self.random.below(10) {
            0..5 => Some(self.random.below(50)),
            5..8 => Some(self.random.span(10_000)),
            _ => None,
        }
    }

    /// The page's end of a line breaks.
    pub(super) fn break_at_page(&mut self, id: u64, after: u64) {
        if let Some(line) = self.links.get(&id) {
            let (tab, document) = (line.tab, line.document);
            let task = Task::Closed(id, ABNORMAL_CLOSURE);
            self.queue.schedule_after(
                after,
                Event::TabTask {
                    tab,
                    document,
                    task,
                },
            );
        }
    }

    pub(super) fn close_at_bridge(&mut self, id: u64, code: u16) {
        let at = self.now();
        self.with_bridge(|bridge| bridge.connection_closed(id, code, at));
        if let Some(line) = self.links.get_mut(&id) {
            line.open_at_bridge = false;
        }
    }

    /// The bridge's process is gone: every line breaks, and every page hears it soon.
    pub(super) fn reset_all_links(&mut self) {
        let open: Vec<u64> = self.links.keys().copied().collect();
        for id in open {
            let after = self.random.span(500);
            let line = self.links.get_mut(&id).expect("it was there");
            line.open_at_bridge = false;
            if !std::mem::replace(&mut line.dead, true) {
                self.break_at_page(id, after);
            }
        }
    }

    /// Nothing gets through for a while, on any line.
    pub(super) fn stall_links(&mut self, span: u64) {
        self.stalled_until = self.queue.now() + span;
        for line in self.links.values_mut() {
            line.stalled_until = self.stalled_until;
        }
    }

    /// Lines that are not broken will not break.
    pub(super) fn mend_links(&mut self) {
        for line in self.links.values_mut() {
            line.to_bridge.cut_after = None;
            line.to_page.cut_after = None;
        }
    }

    /// The line breaks after so many bytes more in one direction.
    pub(super) fn cut_after(&mut self, id: u64, way: Direction, bytes: usize) {
        if let Some(line) = self.links.get_mut(&id) {
            let direction = match way {
                Direction::ToBridge => &mut line.to_bridge,
                Direction::ToPage => &mut line.to_page,
            };
            direction.cut_after = Some(bytes);
        }
    }
}
