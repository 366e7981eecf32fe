//! The simulated TCP connections between tabs and the bridge.

/// A packet on a link.
#[derive(Clone, Debug)]
pub(super) enum Packet {
    /// The page's upgrade request, and the bridge's response to it.
    Open,
    Frame(String),
    /// A ping with this number to the page's browser.
    Ping(u64),
    /// The browser's answer.
    Pong(u64),
    /// A close frame with this code.
    Close(u16),
}

impl Packet {
    /// Returns the size on the wire; the header of a WebSocket frame counts as six bytes.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Packet::Frame(text) => text.len() + 6,
            Packet::Open | Packet::Close(_) => 8,
            Packet::Ping(_) | Packet::Pong(_) => 14,
        }
    }
}

/// The direction in which a packet travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    ToBridge,
    ToPage,
}

/// The state of one direction of a link.
#[derive(Debug, Default)]
pub(super) struct DirectionState {
    /// When the last packet arrives: no packet overtakes another.
    pub(super) last: u64,
    /// The link breaks after this many more bytes.
    pub(super) cut_after: Option<usize>,
}

/// One TCP connection.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) tab: usize,
    pub(super) document: u64,
    pub(super) session: String,
    pub(super) latency: u64,
    /// Nothing arrives any more, in either direction.
    pub(super) dead: bool,
    /// Nothing arrives before this time.
    pub(super) stalled_until: u64,
    to_bridge: DirectionState,
    to_page: DirectionState,
    /// The bridge regards the connection as open.
    pub(super) open_at_bridge: bool,
    /// Whether a frame has arrived at the bridge since it sent its last ping.
    pub(super) data_arrived: bool,
}

impl Link {
    pub(super) fn new(
        tab: usize,
        document: u64,
        session: &str,
        latency: u64,
        stalled_until: u64,
    ) -> Self {
        Self {
            tab,
            document,
            session: session.to_owned(),
            latency,
            dead: false,
            stalled_until,
            to_bridge: DirectionState::default(),
            to_page: DirectionState::default(),
            open_at_bridge: false,
            data_arrived: false,
        }
    }

    pub(super) fn direction_mut(&mut self, direction: Direction) -> &mut DirectionState {
        match direction {
            Direction::ToBridge => &mut self.to_bridge,
            Direction::ToPage => &mut self.to_page,
        }
    }
}
