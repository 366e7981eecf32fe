//! The lines of a log: text for people, or one JSON object a line. Whatever an event contains, it is
//! one line without invisible characters.

use std::borrow::Cow;
use std::fmt;
use std::io::IsTerminal;
use std::str::FromStr;

use bridge_protocol::invisible::{escape_in_json, visible_line};
use serde_json::json;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::fmt::format::{Format, Full, Json, Writer, format};
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, MakeWriter, layer};
use tracing_subscriber::registry::LookupSpan;

use crate::journal;

/// The escape character, with which a terminal's colours begin.
const ESCAPE: &str = "\u{1b}";

/// The codes of the colours and styles that the format writes, without the escape character.
const STYLES: [&str; 9] = [
    "[0m", "[1m", "[2m", "[3m", "[31m", "[32m", "[33m", "[34m", "[35m",
];

/// The format of the lines of a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// Text for people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

impl LogFormat {
    /// The name of the format.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
        }
    }
}

impl FromStr for LogFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            _ => Err("allowed are text and json".to_owned()),
        }
    }
}

/// How the lines of a log are written.
#[derive(Clone, Copy, Debug)]
pub struct LineStyle {
    /// The format of each line.
    pub format: LogFormat,
    /// Returns the id of the request that this thread serves now, which each line of it has. The id
    /// must have only characters that need no escape in JSON.
    pub request_id: fn() -> Option<String>,
}

/// How lines are written to their output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LineOutput {
    format: LogFormat,
    /// Whether the journal of systemd reads the lines. It adds the time, and needs the priority.
    is_journal: bool,
}

impl LineOutput {
    /// Returns how lines are written to stderr, which may be connected to the journal.
    pub(crate) fn stderr(format: LogFormat) -> Self {
        Self {
            format,
            is_journal: journal::is_stderr(),
        }
    }
}

impl From<LogFormat> for LineOutput {
    /// Lines for an output that is not the journal.
    fn from(format: LogFormat) -> Self {
        Self {
            format,
            is_journal: false,
        }
    }
}

impl From<LogFormat> for LineStyle {
    /// Lines without ids of requests.
    fn from(format: LogFormat) -> Self {
        Self {
            format,
            request_id: || None,
        }
    }
}

/// Formats events like another format, and adds what each line has in this style.
pub(crate) struct EventLine<F> {
    event: F,
    style: LineStyle,
    has_colors: bool,
    has_priority: bool,
}

impl EventLine<Format<Full>> {
    fn text(style: LineStyle, has_colors: bool) -> Self {
        Self {
            // Colour codes in a file or a journal would hinder searching.
            event: format().with_ansi(has_colors),
            style,
            has_colors,
            has_priority: false,
        }
    }
}

impl EventLine<Format<Full, ()>> {
    /// Text without times.
    pub(crate) fn plain_text(style: LineStyle) -> Self {
        Self {
            event: format().with_ansi(false).without_time(),
            style,
            has_colors: false,
            has_priority: false,
        }
    }
}

impl EventLine<Format<Json>> {
    pub(crate) fn json(style: LineStyle) -> Self {
        let event = format().json().flatten_event(true);
        Self {
            event: event.with_current_span(false).with_span_list(false),
            style,
            has_colors: false,
            has_priority: false,
        }
    }
}

impl<F> EventLine<F> {
    fn with_priority(self, has_priority: bool) -> Self {
        Self {
            has_priority,
            ..self
        }
    }

    /// Returns a line with its colours, and without other characters that are not visible.
    fn visible<'a>(&self, line: &'a str) -> Cow<'a, str> {
        if !self.has_colors {
            return visible_line(line);
        }
        // A value that the format writes unchanged may have other codes, which would control the terminal.
        let mut parts = line.split(ESCAPE);
        let mut text = visible_line(parts.next().unwrap_or_default()).into_owned();
        for part in parts {
            let is_style = STYLES.iter().any(|style| part.starts_with(style));
            text += if is_style { ESCAPE } else { r"\u{1b}" };
            text += &visible_line(part);
        }
        Cow::Owned(text)
    }
}

/// Returns the layer that writes each event as a line in this style.
pub(crate) fn lines<S>(
    style: LineStyle,
    output: LineOutput,
    log: impl for<'a> MakeWriter<'a> + Send + Sync + 'static,
) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    match output.format {
        LogFormat::Text if output.is_journal => {
            let text = EventLine::plain_text(style).with_priority(true);
            let layer = layer::<S>().with_ansi(false).event_format(text);
            layer.with_writer(log).boxed()
        }
        LogFormat::Text => {
            let has_colors = std::io::stderr().is_terminal();
            let text = EventLine::text(style, has_colors);
            let layer = layer::<S>().with_ansi(has_colors).event_format(text);
            layer.with_writer(log).boxed()
        }
        LogFormat::Json => {
            let json = EventLine::json(style).with_priority(output.is_journal);
            let layer = layer::<S>().json().event_format(json);
            layer.with_writer(log).boxed()
        }
    }
}

impl<S, N, F> FormatEvent<S, N> for EventLine<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut line = String::new();
        self.event
            .format_event(context, Writer::new(&mut line), event)?;
        let line = line.trim_end_matches('\n');
        if self.has_priority {
            writer.write_str(journal::priority(*event.metadata().level()))?;
        }
        let request = (self.style.request_id)();
        match self.style.format {
            LogFormat::Json => {
                let line = escape_in_json(line);
                match (request, line.strip_suffix('}')) {
                    (Some(request), Some(members)) => {
                        writeln!(writer, "{members},\"request_id\":\"{request}\"}}")
                    }
                    _ => writeln!(writer, "{line}"),
                }
            }
            LogFormat::Text => {
                writer.write_str(&self.visible(line))?;
                match request {
                    Some(request) => writeln!(writer, " request_id={request}"),
                    None => writeln!(writer),
                }
            }
        }
    }
}

/// Returns a line about the log itself, or about the end of a thread, which no subscriber formats.
pub(crate) fn own_line(output: LineOutput, level: Level, message: &str) -> String {
    let line = match output.format {
        LogFormat::Text => format!("{message}\n"),
        LogFormat::Json => {
            let mut timestamp = String::new();
            // Writing into memory cannot fail.
            let _ = SystemTime.format_time(&mut Writer::new(&mut timestamp));
            let line = json!({
                "timestamp": timestamp,
                "level": level.as_str(),
                "message": message,
                "target": "bridge_output",
            });
            format!("{}\n", escape_in_json(&line.to_string()))
        }
    };
    if output.is_journal {
        journal::with_priority(level, &line)
    } else {
        line
    }
}

#[cfg(test)]
mod tests {
    use bridge_protocol::invisible::is_invisible;
    use serde_json::Value;

    use super::*;
    use crate::captured_log::CapturedLog;

    /// Returns what is logged meanwhile.
    fn logged(style: LineStyle, log: impl FnOnce()) -> String {
        let (captured, _guard) = CapturedLog::start_with(style);
        log();
        captured.text()
    }

    fn is_hidden(character: char) -> bool {
        character != '\n' && is_invisible(character)
    }

    const HOSTILE: &str =
        "a\"\\\n{\"level\":\"ERROR\"}\r\0\u{1b}[2J\u{7f}\u{202e}\u{2028}\u{200b}\u{3164}\u{e0041}é";

    #[test]
    fn each_event_is_one_json_object_whatever_it_contains() {
        let style = LineStyle {
            format: LogFormat::Json,
            request_id: || Some("0123456789abcdef".to_owned()),
        };
        let log = logged(style, || {
            tracing::info!(target: "audit", name = HOSTILE, code = None::<&str>, ms = 3, "call");
            tracing::warn!("{HOSTILE}");
        });
        let lines: Vec<Value> = log
            .lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}")))
            .collect();
        assert_eq!(lines.len(), 2, "{log}");
        let first = &lines[0];
        assert_eq!(first["name"], HOSTILE);
        assert_eq!(first["level"], "INFO");
        assert_eq!(first["target"], "audit");
        assert_eq!(first["message"], "call");
        assert_eq!(first["ms"], 3);
        assert_eq!(first["request_id"], "0123456789abcdef");
        assert!(first["timestamp"].is_string() && first.get("code").is_none());
        assert!(
            lines[1]["message"]
                .as_str()
                .unwrap()
                .starts_with("a\"\\\n{")
        );
        assert!(!log.contains(is_hidden), "{log}");
    }

    #[test]
    fn each_event_is_one_line_of_text_without_invisible_characters() {
        let log = logged(LogFormat::Text.into(), || {
            tracing::info!(name = HOSTILE, "call");
            tracing::warn!("{HOSTILE}");
        });
        assert_eq!(log.lines().count(), 2, "{log}");
        assert!(!log.contains(is_hidden), "{log}");
        assert!(
            log.contains(r"\u{202e}") && log.contains(r"\u{3164}"),
            "{log}"
        );
    }

    #[test]
    fn a_terminal_gets_colours_and_no_other_codes() {
        let terminal = EventLine {
            event: (),
            style: LogFormat::Text.into(),
            has_colors: true,
            has_priority: false,
        };
        assert_eq!(
            terminal.visible("\u{1b}[2mname\u{1b}[0m=a\u{1b}[8mb\u{1b}]0;title\u{7}\u{1b}"),
            "\u{1b}[2mname\u{1b}[0m=a\\u{1b}[8mb\\u{1b}]0;title\\u{7}\\u{1b}"
        );
        assert_eq!(terminal.visible("a\u{202e}"), "a\\u{202e}");
    }

    /// Returns what a program whose stderr is the journal logs meanwhile.
    fn logged_to_journal(format: LogFormat) -> String {
        let output = LineOutput {
            format,
            is_journal: true,
        };
        let own = own_line(output, Level::WARN, "\n1 line\nwas lost");
        own + &CapturedLog::in_layer(
            |log| lines(format.into(), output, move || log.clone()),
            || {
                tracing::error!("no room");
                tracing::info!("<0>room");
                tracing::debug!("{HOSTILE}");
            },
        )
    }

    #[test]
    fn text_for_the_journal_has_priorities_and_no_times() {
        let log = logged_to_journal(LogFormat::Text);
        let lines: Vec<_> = log.lines().collect();
        let target = module_path!();
        assert_eq!(lines.len(), 5, "{log}");
        assert_eq!(lines[..2], ["<4>1 line", "<4>was lost"]);
        assert_eq!(lines[2], format!("<3>ERROR {target}: no room"));
        assert_eq!(lines[3], format!("<6> INFO {target}: <0>room"));
        assert!(
            lines[4].starts_with(&format!("<7>DEBUG {target}: a")),
            "{log}"
        );
    }

    #[test]
    fn json_for_the_journal_has_priorities_and_times() {
        let log = logged_to_journal(LogFormat::Json);
        for (line, priority) in log.lines().zip(["<4>", "<3>", "<6>", "<7>"]) {
            let json = line
                .strip_prefix(priority)
                .unwrap_or_else(|| panic!("{line}"));
            let json: Value = serde_json::from_str(json).unwrap();
            assert!(json["timestamp"].is_string(), "{line}");
        }
        assert_eq!(log.lines().count(), 4, "{log}");
    }

    #[test]
    fn lines_about_the_log_itself_are_json_objects() {
        let line = own_line(
            LogFormat::Json.into(),
            Level::ERROR,
            "thread 'x' panicked:\n\"no\" room",
        );
        let line = line.strip_suffix('\n').unwrap();
        assert!(!line.contains('\n'), "{line}");
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["level"], "ERROR");
        assert!(line["timestamp"].is_string());
        assert_eq!(line["message"], "thread 'x' panicked:\n\"no\" room");
    }

    #[test]
    fn a_format_is_text_or_json() {
        assert_eq!("json".parse(), Ok(LogFormat::Json));
        assert_eq!("text".parse(), Ok(LogFormat::Text));
        assert!(
            "JSON"
                .parse::<LogFormat>()
                .unwrap_err()
                .contains("text and json")
        );
    }
}
