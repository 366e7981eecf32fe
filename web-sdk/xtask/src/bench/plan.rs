//! What is measured, and for how long.

use std::fmt;

/// Everything that a run measures, and for how long.
#[derive(Debug)]
pub(super) struct Plan {
    /// How often each call is measured; the median counts.
    pub(super) rounds: usize,
    /// The duration of a measurement, in seconds.
    pub(super) seconds: f64,
    /// The duration for the largest results, in seconds: only a few dozen are returned in a second.
    pub(super) seconds_for_largest: f64,
    /// The duration of the calls before a measurement, in seconds.
    pub(super) warm_up: f64,
    /// The numbers of callers that small results are measured with.
    pub(super) callers: &'static [usize],
    /// The large results, by the load generator's names.
    pub(super) large: &'static [&'static str],
    /// The routes that large results are measured on.
    pub(super) large_routes: &'static [Route],
    pub(super) idle: Idle,
    pub(super) ask: Ask,
    pub(super) attacks: Attacks,
}

/// How attacks are measured.
#[derive(Debug)]
pub(super) struct Attacks {
    /// How long a victim is measured alone, and during each attack, in seconds.
    pub(super) seconds: f64,
    /// The time until the last measurement of memory, in seconds.
    pub(super) rest: f64,
}

/// How queries are measured.
#[derive(Debug)]
pub(super) struct Ask {
    /// The number of queries on each wire, one after the other.
    pub(super) queries: usize,
    /// The number of concurrent queries.
    pub(super) at_once: usize,
}

/// How idle pages are measured.
#[derive(Debug)]
pub(super) struct Idle {
    /// The number of pages.
    pub(super) pages: usize,
    /// How long they are watched, in seconds.
    pub(super) rest: u64,
    /// The interval of the bridge's heartbeats, in seconds.
    pub(super) heartbeat: u64,
    /// The number of pages of one token that register one after the other.
    pub(super) registering: usize,
}

/// The number of pages that return large results.
pub(super) const LARGE_PAGES: usize = 4;
/// The number of callers of large results.
pub(super) const LARGE_CALLERS: usize = 4;
/// The number of pages that return small results.
pub(super) const PAGES: usize = 16;

impl Plan {
    /// Returns the plan for docs/benchmarks.md.
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
            attacks: Attacks {
                seconds: 10.0,
                rest: 60.0,
            },
        }
    }

    /// Returns the plan of `--quick`, which takes a few minutes.
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
            attacks: Attacks {
                seconds: 2.0,
                rest: 5.0,
            },
        }
    }

    /// Returns the duration of a measurement with this result, in seconds.
    pub(super) fn seconds_for(&self, result: &str) -> f64 {
        if result.starts_with("10mb") {
            self.seconds_for_largest
        } else {
            self.seconds
        }
    }

    /// Returns the cells of small results, ordered so that those that are compared are measured in
    /// succession.
    pub(super) fn small_cells(&self) -> Vec<Cell> {
        let callers = self.callers.iter();
        let cells = callers.flat_map(|&callers| Row::SMALL.map(|row| row.cell(callers)));
        cells.collect()
    }

    /// Returns the cells of large results.
    pub(super) fn large_cells(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for &result in self.large {
            for &route in self.large_routes {
                let cell = |subject, schemas| Cell {
                    subject,
                    route,
                    schemas,
                    receipts: false,
                    result,
                    pages: LARGE_PAGES,
                    callers: LARGE_CALLERS,
                };
                cells.push(cell(Subject::FloorMcp, false));
                cells.push(cell(Subject::Bridge, false));
                if result.ends_with("rows") {
                    cells.push(cell(Subject::Bridge, true));
                }
            }
        }
        cells
    }
}

/// The server that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    /// A server that only forwards bytes.
    Floor,
    /// A server that writes the responses that the bridge writes.
    FloorMcp,
    Bridge,
}

impl Subject {
    /// Returns the load generator's name for the server.
    pub(super) fn name(self) -> &'static str {
        match self {
            Subject::Floor => "floor",
            Subject::FloorMcp => "floor-mcp",
            Subject::Bridge => "bridge",
        }
    }
}

/// The protocol of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    ToolCall,
    Mcp2025,
    Mcp2026,
    V1,
}

impl Route {
    /// Returns the load generator's name for the route.
    pub(super) fn name(self) -> &'static str {
        match self {
            Route::ToolCall => "tool-call",
            Route::Mcp2025 => "mcp-2025",
            Route::Mcp2026 => "mcp-2026",
            Route::V1 => "v1",
        }
    }

    /// Returns the name in tables, as Markdown.
    pub(super) fn display_name(self) -> &'static str {
        match self {
            Route::ToolCall => "`POST /tool-call`",
            Route::Mcp2025 => "`/mcp`, 2025-11-25",
            Route::Mcp2026 => "`/mcp`, 2026-07-28",
            Route::V1 => "`--compat mcp-web`",
        }
    }
}

/// A row in the tables of small results.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) subject: Subject,
    pub(super) route: Route,
    pub(super) schemas: bool,
    pub(super) receipts: bool,
}

impl Row {
    /// All rows; each is compared with the first.
    pub(super) const SMALL: [Self; 12] = [
        Self::new(Subject::Floor, Route::ToolCall),
        Self::new(Subject::FloorMcp, Route::ToolCall),
        Self::new(Subject::FloorMcp, Route::Mcp2026),
        Self::new(Subject::Bridge, Route::ToolCall).with_schemas(),
        Self::new(Subject::Bridge, Route::Mcp2025).with_schemas(),
        Self::new(Subject::Bridge, Route::Mcp2026).with_schemas(),
        Self::new(Subject::Bridge, Route::Mcp2026)
            .with_schemas()
            .with_receipts(),
        Self::new(Subject::Bridge, Route::ToolCall),
        Self::new(Subject::Bridge, Route::Mcp2025),
        Self::new(Subject::Bridge, Route::Mcp2026),
        Self::new(Subject::Bridge, Route::Mcp2026).with_receipts(),
        Self::new(Subject::Bridge, Route::V1),
    ];

    const fn new(subject: Subject, route: Route) -> Self {
        Self {
            subject,
            route,
            schemas: false,
            receipts: false,
        }
    }

    const fn with_receipts(mut self) -> Self {
        self.receipts = true;
        self
    }

    const fn with_schemas(mut self) -> Self {
        self.schemas = true;
        self
    }

    /// Returns the measurement of this row with a number of callers.
    pub(super) fn cell(self, callers: usize) -> Cell {
        let Self {
            subject,
            route,
            schemas,
            receipts,
        } = self;
        Cell {
            subject,
            route,
            schemas,
            receipts,
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
        f.write_str(if self.schemas { ", both schemas" } else { "" })?;
        f.write_str(if self.receipts { ", two messages" } else { "" })
    }
}

/// One combination that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) subject: Subject,
    pub(super) route: Route,
    pub(super) schemas: bool,
    /// Whether pages acknowledge a call before they answer it.
    pub(super) receipts: bool,
    pub(super) result: &'static str,
    pub(super) pages: usize,
    pub(super) callers: usize,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (subject, route) = (self.subject.name(), self.route.name());
        let schemas = if self.schemas { ", schemas" } else { "" };
        let receipts = if self.receipts { ", receipts" } else { "" };
        let (result, callers) = (self.result, self.callers);
        write!(
            f,
            "{subject} {route}{schemas}{receipts}, {result}, callers: {callers}"
        )
    }
}
