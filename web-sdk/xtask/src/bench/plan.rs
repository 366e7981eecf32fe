use std::fmt;

/// What is measured, and how long.
#[derive(Debug)]
pub(super) struct Plan {
    /// How often everything is measured; the median counts.
    pub(super) rounds: usize,
    /// Seconds of each measurement.
    pub(super) seconds: f64,
    /// Of those of the largest results: only a few dozen are fetched in a second.
    pub(super) seconds_for_largest: f64,
    /// Seconds of calls before it.
    pub(super) warm_up: f64,
    /// Numbers of callers of small results.
    pub(super) callers: &'static [usize],
    /// Results that are large.
    pub(super) large: &'static [&'static str],
    /// Ways by which they are fetched.
    pub(super) large_routes: &'static [Route],
    /// Pages that do nothing.
    pub(super) idle: Idle,
    /// Queries.
    pub(super) ask: Ask,
}

/// What is measured of queries.
#[derive(Debug)]
pub(super) struct Ask {
    /// How many are asked on each wire, one after the other.
    pub(super) queries: usize,
    /// How many are asked at once.
    pub(super) at_once: usize,
}

/// What is measured of pages that do nothing.
#[derive(Debug)]
pub(super) struct Idle {
    /// How many there are.
    pub(super) pages: usize,
    /// How long they are watched, in seconds.
    pub(super) rest: u64,
    /// How often the bridge looks after them, in seconds.
    pub(super) heartbeat: u64,
    /// How many pages of one token register one after the other.
    pub(super) registering: usize,
}

/// Pages, and callers, of large results.
pub(super) const LARGE_PAGES: usize = 4;
/// Callers of large results.
pub(super) const LARGE_CALLERS: usize = 4;
/// Pages of small results.
pub(super) const PAGES: usize = 16;

impl Plan {
    pub(super) fn full() -> Self {
        Self {
            rounds: 3,
            seconds: 1.2,
            seconds_for_largest: 3.0,
            warm_up: 0.3,
            callers: &[1, 8, 64],
            large: &[
                "100kb-rows",
                "100kb-text",
                "1mb-rows",
                "1mb-text",
                "10mb-rows",
                "10mb-text",
            ],
            large_routes: &[Route::ToolCall, Route::Mcp2025, Route::Mcp2026],
            idle: Idle {
                pages: 10_000,
                rest: 60,
                heartbeat: 25,
                registering: 300,
            },
            ask: Ask {
                queries: 500,
                at_once: 500,
            },
        }
    }

    pub(super) fn quick() -> Self {
        Self {
            rounds: 1,
            seconds: 0.7,
            seconds_for_largest: 0.7,
            warm_up: 0.2,
            callers: &[1, 8, 64],
            large: &["100kb-rows", "1mb-rows", "1mb-text"],
            large_routes: &[Route::ToolCall, Route::Mcp2026],
            idle: Idle {
                pages: 500,
                rest: 3,
                heartbeat: 2,
                registering: 60,
            },
            ask: Ask {
                queries: 50,
                at_once: 500,
            },
        }
    }

    /// Seconds of a measurement with such results.
    pub(super) fn seconds_for(&self, result: &str) -> f64 {
        match result.starts_with("10mb") {
            true => self.seconds_for_largest,
            false => self.seconds,
        }
    }

    /// Calls of small results, so that what is compared is measured one after the other.
    pub(super) fn small_cells(&self) -> Vec<Cell> {
        let callers = self.callers.iter();
        let cells = callers.flat_map(|&callers| Row::SMALL.map(|row| row.cell(callers)));
        cells.collect()
    }

    /// Those of large results.
    pub(super) fn large_cells(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for &result in self.large {
            for &route in self.large_routes {
                cells.extend([Subject::FloorMcp, Subject::Bridge].map(|subject| Cell {
                    subject,
                    route,
                    schemas: false,
                    result,
                    pages: LARGE_PAGES,
                    callers: LARGE_CALLERS,
                }));
            }
        }
        cells
    }
}

/// Who answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    /// Passes bytes on.
    Floor,
    /// Writes what the bridge writes.
    FloorMcp,
    Bridge,
}

/// The way of a call, by the generator's name for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    ToolCall,
    Mcp2025,
    Mcp2026,
    V1,
}

impl Route {
    pub(super) fn name(self) -> &'static str {
        match self {
            Route::ToolCall => "tool-call",
            Route::Mcp2025 => "mcp-2025",
            Route::Mcp2026 => "mcp-2026",
            Route::V1 => "v1",
        }
    }

    pub(super) fn display_name(self) -> &'static str {
        match self {
            Route::ToolCall => "`POST /tool-call`",
            Route::Mcp2025 => "`/mcp`, 2025-11-25",
            Route::Mcp2026 => "`/mcp`, 2026-07-28",
            Route::V1 => "`--compat mcp-web`",
        }
    }
}

/// One line in the tables of small results.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) subject: Subject,
    pub(super) route: Route,
    pub(super) schemas: bool,
}

impl Row {
    /// The first is what all are compared with.
    pub(super) const SMALL: [Self; 10] = [
        Self::new(Subject::Floor, Route::ToolCall),
        Self::new(Subject::FloorMcp, Route::ToolCall),
        Self::new(Subject::FloorMcp, Route::Mcp2026),
        Self::new(Subject::Bridge, Route::ToolCall),
        Self::new(Subject::Bridge, Route::Mcp2025),
        Self::new(Subject::Bridge, Route::Mcp2026),
        Self::new(Subject::Bridge, Route::V1),
        Self::new(Subject::Bridge, Route::ToolCall).with_schemas(),
        Self::new(Subject::Bridge, Route::Mcp2025).with_schemas(),
        Self::new(Subject::Bridge, Route::Mcp2026).with_schemas(),
    ];

    const fn new(subject: Subject, route: Route) -> Self {
        Self {
            subject,
            route,
            schemas: false,
        }
    }

    const fn with_schemas(mut self) -> Self {
        self.schemas = true;
        self
    }

    pub(super) fn cell(self, callers: usize) -> Cell {
        let Self {
            subject,
            route,
            schemas,
        } = self;
        Cell {
            subject,
            route,
            schemas,
            result: "1kb",
            pages: PAGES,
            callers,
        }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.subject {
            Subject::Floor => f.write_str("`floor`"),
            Subject::FloorMcp => write!(f, "`floor-mcp`, as {}", self.route.display_name()),
            Subject::Bridge => f.write_str(self.route.display_name()),
        }?;
        f.write_str(if self.schemas { ", both schemas" } else { "" })
    }
}

/// One thing that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) subject: Subject,
    pub(super) route: Route,
    pub(super) schemas: bool,
    pub(super) result: &'static str,
    pub(super) pages: usize,
    pub(super) callers: usize,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let subject = match self.subject {
            Subject::Floor => "floor",
            Subject::FloorMcp => "floor-mcp",
            Subject::Bridge => "bridge",
        };
        let (route, schemas) = (
            self.route.name(),
            if self.schemas { ", schemas" } else { "" },
        );
        let (result, callers) = (self.result, self.callers);
        write!(
            f,
            "{subject} {route}{schemas}, {result}, callers: {callers}"
        )
    }
}
