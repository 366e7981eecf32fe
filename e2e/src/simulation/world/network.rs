//! The network between tabs and the bridge: it delays packets, repeats them, and breaks after any
//! byte.

use bridge::in_memory::ABNORMAL_CLOSURE;

use super::World;
use super::event::Event;
use super::link::{Direction, Link, Packet};
use super::task::Task;

impl World {
    pub(super) fn open_link(&mut self, tab: usize) -> u64 {
        let id = self.new_id();
        let latency = self.random.one_of(&[1, 5, 20, 20, 80, 400]);
        let source = &self.tabs[tab];
        let link = Link::new(
            tab,
            source.document,
            &source.session,
            latency,
            self.stalled_until,
        );
        self.links.insert(id, link);
        self.summary.connections += 1;
        self.send(id, Direction::ToBridge, Packet::Open);
        id
    }

    /// Sends a packet to the other end of a link.
    pub(super) fn send(&mut self, id: u64, direction: Direction, packet: Packet) {
        let now = self.queue.now();
        let repeated = self.is_repeated(&packet);
        let slow = if self.faults_enabled && self.random.percent(3) {
            self.random.span(6_000)
        } else {
            0
        };
        let Some(link) = self.links.get_mut(&id).filter(|link| !link.dead) else {
            return;
        };
        let latency = link.latency + slow;
        let arrives = now.max(link.stalled_until) + latency;
        let state = link.direction_mut(direction);
        if let Some(left) = &mut state.cut_after {
            match left.checked_sub(packet.bytes()) {
                Some(rest) => *left = rest,
                None => return self.cut_link(id, "in the middle of a frame"),
            }
        }
        let arrives = arrives.max(state.last);
        state.last = arrives;
        for _ in 0..=u64::from(repeated) {
            let packet = packet.clone();
            let event = Event::PacketArrives {
                link: id,
                direction,
                packet,
            };
            self.queue.schedule_at(arrives, event);
        }
    }

    /// Returns whether the packet arrives twice. TCP and WebSocket repeat nothing, but an
    /// intermediary may; the protocol then guarantees that no call runs twice. Repeated parts and a
    /// second `authenticate` violate the protocol and close the connection for good, so those are
    /// never repeated.
    fn is_repeated(&mut self, packet: &Packet) -> bool {
        let Packet::Frame(text) = packet else {
            return false;
        };
        let repeatable = text.starts_with('{') && !text.starts_with(r#"{"type":"authenticate"#);
        repeatable && self.repeats_enabled && self.faults_enabled && self.random.percent(10)
    }

    pub(super) fn deliver(&mut self, id: u64, direction: Direction, packet: Packet) {
        let Some(link) = self.links.get(&id).filter(|link| !link.dead) else {
            return;
        };
        let (tab, document) = (link.tab, link.document);
        if matches!(packet, Packet::Frame(_)) {
            self.summary.frames += 1;
        }
        match (direction, packet) {
            (Direction::ToBridge, Packet::Open) => self.accept_connection(id),
            (Direction::ToBridge, Packet::Frame(text)) => {
                let at = self.now();
                if let Some(link) = self.links.get_mut(&id) {
                    link.data_arrived = true;
                }
                self.with_bridge(|bridge| bridge.frame_arrived(id, &text, at));
            }
            (Direction::ToBridge, Packet::Pong(probe)) => {
                let at = self.now();
                let data_arrived = link.data_arrived;
                self.with_bridge(|bridge| bridge.pong_arrived(id, probe, data_arrived, at));
            }
            // The browser answers without the page, also while it has suspended the page.
            (Direction::ToPage, Packet::Ping(probe)) => {
                self.send(id, Direction::ToBridge, Packet::Pong(probe));
            }
            (Direction::ToBridge, Packet::Ping(_)) | (Direction::ToPage, Packet::Pong(_)) => {}
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
        let Some(link) = self.links.get_mut(&id) else {
            return;
        };
        let Some(bridge) = &mut self.bridge else {
            return self.break_at_page(id, 0);
        };
        bridge.connection_opened(id, &link.session);
        link.open_at_bridge = true;
        let timeout = self.config.page_timings.authenticate_within.as_millis() as u64;
        self.queue
            .schedule_after(timeout, Event::AuthenticationDue(id));
        self.send(id, Direction::ToPage, Packet::Open);
    }

    /// Breaks a link: nothing arrives any more. Each side notices at a different time, or only
    /// when its own timer expires.
    pub(super) fn cut_link(&mut self, id: u64, why: &str) {
        let Some(link) = self.links.get_mut(&id).filter(|link| !link.dead) else {
            return;
        };
        link.dead = true;
        self.trace(|| format!("link {id} is cut {why}"));
        let (bridge, page) = (self.notice_delay(), self.notice_delay());
        if let Some(after) = page {
            self.break_at_page(id, after);
        }
        // The bridge drops a peer that is silent for three heartbeats.
        let silence = 3 * self.config.page_timings.heartbeat.as_millis() as u64;
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

    /// Breaks the page's end of a link after a delay.
    pub(super) fn break_at_page(&mut self, id: u64, delay: u64) {
        if let Some(link) = self.links.get(&id) {
            let (tab, document) = (link.tab, link.document);
            let task = Task::Closed(id, ABNORMAL_CLOSURE);
            self.queue.schedule_after(
                delay,
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
        if let Some(link) = self.links.get_mut(&id) {
            link.open_at_bridge = false;
        }
    }

    /// Breaks all links because the bridge's process is gone; every page notices soon.
    pub(super) fn reset_all_links(&mut self) {
        let ids: Vec<u64> = self.links.keys().copied().collect();
        for id in ids {
            let after = self.random.span(500);
            let link = self
                .links
                .get_mut(&id)
                .expect("no link is removed in this loop");
            link.open_at_bridge = false;
            if !std::mem::replace(&mut link.dead, true) {
                self.break_at_page(id, after);
            }
        }
    }

    /// Delays everything on all links by the same span.
    pub(super) fn stall_links(&mut self, span: u64) {
        self.stalled_until = self.queue.now() + span;
        for link in self.links.values_mut() {
            link.stalled_until = self.stalled_until;
        }
    }

    /// Removes the cuts that have not happened yet.
    pub(super) fn mend_links(&mut self) {
        for link in self.links.values_mut() {
            link.direction_mut(Direction::ToBridge).cut_after = None;
            link.direction_mut(Direction::ToPage).cut_after = None;
        }
    }

    /// Lets a link break after this many more bytes in one direction.
    pub(super) fn cut_after(&mut self, id: u64, direction: Direction, bytes: usize) {
        if let Some(link) = self.links.get_mut(&id) {
            link.direction_mut(direction).cut_after = Some(bytes);
        }
    }
}
