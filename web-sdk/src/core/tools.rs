//! The page's tools, and what the bridge has been told about them.
//!
//! The table is what the app wants; `flush` says what the bridge must hear so that it agrees.

use bridge_protocol::{ErrorCode, RegistrationId};

use super::effect::{Effects, Failure, Report, ToolKey};
use super::messages::{Encoded, PageToBridge, RefusedTool, RegisteredTool};
use super::text::decimal;

/// Room in a frame for everything but the definitions.
const ENVELOPE_BYTES: usize = 1024;

/// Whether the bridge knows the tool as it is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    /// This bridge never heard of it.
    Never,
    /// It was sent on an earlier connection, and goes again on the next.
    Before,
    /// It was sent on this connection.
    Now,
}

#[derive(Debug)]
struct Tool<V> {
    key: ToolKey,
    name: String,
    definition: Encoded<V>,
    handler: V,
    told: Told,
}

/// A name that the bridge may still list.
#[derive(Debug)]
struct Gone {
    name: String,
    /// The tool whose removal the app waits for.
    waiting: Option<ToolKey>,
}

/// A message that the bridge has not answered.
#[derive(Debug)]
struct Unanswered {
    id: RegistrationId,
    /// The tools it registers.
    tools: Vec<ToolKey>,
    /// The names it unregisters.
    gone: Vec<Gone>,
}

/// All tools in the order of adding.
#[derive(Debug)]
pub(super) struct Tools<V> {
    tools: Vec<Tool<V>>,
    gone: Vec<Gone>,
    unanswered: Vec<Unanswered>,
    registrations: u64,
}

impl<V: Clone> Tools<V> {
    pub(super) fn new() -> Self {
        Self {
            tools: Vec::new(),
            gone: Vec::new(),
            unanswered: Vec::new(),
            registrations: 0,
        }
    }

    pub(super) fn handler(&self, name: &str) -> Option<V> {
        let tool = self.tools.iter().find(|tool| tool.name == name)?;
        Some(tool.handler.clone())
    }

    /// Adds a tool. One of the same name is replaced in its place, and gone as far as its own
    /// handle goes.
    pub(super) fn added(
        &mut self,
        key: ToolKey,
        name: String,
        definition: Encoded<V>,
        handler: V,
        effects: &mut Effects<V>,
    ) {
        let twin = self.tools.iter_mut().find(|tool| tool.name == name);
        let tool = Tool {
            key,
            name,
            definition,
            handler,
            told: Told::Never,
        };
        let Some(place) = twin else {
            self.tools.push(tool);
            return;
        };
        let replaced = std::mem::replace(place, tool);
        // The bridge may list the former definition: the name is not unknown to it.
        if replaced.told != Told::Never {
            place.told = Told::Before;
        }
        effects.report(Report::ToolDropped(replaced.key));
        effects.report(Report::ToolRemoved(replaced.key));
    }

    /// Removes a tool, if it is still there under this key.
    pub(super) fn removed(&mut self, key: ToolKey, connected: bool, effects: &mut Effects<V>) {
        let Some(place) = self.tools.iter().position(|tool| tool.key == key) else {
            effects.report(Report::ToolRemoved(key));
            return;
        };
        let tool = self.tools.remove(place);
        effects.report(Report::ToolDropped(key));
        let known = tool.told != Told::Never;
        if known {
            self.gone.push(Gone {
                name: tool.name,
                waiting: connected.then_some(key),
            });
        }
        if !known || !connected {
            effects.report(Report::ToolRemoved(key));
        }
    }

    /// Sends what the bridge must hear now. Definitions that fit into no frame are refused here.
    pub(super) fn flush(&mut self, max_frame_bytes: usize, effects: &mut Effects<V>) {
        self.flush_gone(effects);
        let room = max_frame_bytes.saturating_sub(ENVELOPE_BYTES);
        let (mut keys, mut tools, mut total) = (Vec::new(), Vec::new(), 0);
        for place in 0..self.tools.len() {
            let tool = &mut self.tools[place];
            if tool.told == Told::Now {
                continue;
            }
            tool.told = Told::Now;
            let (key, definition) = (tool.key, tool.definition.json.clone());
            let bytes = tool.definition.bytes + 1;
            if bytes > room {
                let failure = too_large(&tool.name, bytes, room);
                effects.report(Report::ToolRefused { tool: key, failure });
                continue;
            }
            if total + bytes > room {
                self.register(
                    std::mem::take(&mut keys),
                    std::mem::take(&mut tools),
                    effects,
                );
                total = 0;
            }
            total += bytes;
            keys.push(key);
            tools.push(definition);
        }
        if !keys.is_empty() {
            self.register(keys, tools, effects);
        }
    }

    fn register(&mut self, keys: Vec<ToolKey>, tools: Vec<V>, effects: &mut Effects<V>) {
        let registration_id = self.ask(keys, Vec::new());
        effects.send(PageToBridge::RegisterTools {
            registration_id,
            tools,
        });
    }

    /// A name that was added again is not gone: registering it replaces the old tool.
    fn flush_gone(&mut self, effects: &mut Effects<V>) {
        let (mut gone, mut names) = (Vec::new(), Vec::new());
        for name in std::mem::take(&mut self.gone) {
            if self.tools.iter().any(|tool| tool.name == name.name) {
                report_removed(name.waiting, effects);
            } else {
                names.push(name.name.clone());
                gone.push(name);
            }
        }
        if !gone.is_empty() {
            let registration_id = self.ask(Vec::new(), gone);
            effects.send(PageToBridge::UnregisterTools {
                registration_id,
                names,
            });
        }
    }

    fn ask(&mut self, tools: Vec<ToolKey>, gone: Vec<Gone>) -> RegistrationId {
        self.registrations += 1;
        let id = RegistrationId(["r", &decimal(self.registrations)].concat());
        self.unanswered.push(Unanswered {
            id: id.clone(),
            tools,
            gone,
        });
        id
    }

    /// The bridge answered a registration or an unregistration.
    pub(super) fn answered(
        &mut self,
        id: &RegistrationId,
        registered: &[RegisteredTool],
        errors: Vec<RefusedTool>,
        effects: &mut Effects<V>,
    ) {
        let Some(place) = self.unanswered.iter().position(|asked| asked.id == *id) else {
            return;
        };
        let asked = self.unanswered.remove(place);
        for (index, key) in asked.tools.iter().enumerate() {
            if !errors.iter().any(|error| error.index == index) {
                effects.report(Report::ToolRegistered {
                    tool: *key,
                    published_name: self.published_name(*key, registered),
                });
            }
        }
        for error in errors {
            if let Some(tool) = asked.tools.get(error.index) {
                effects.report(Report::ToolRefused {
                    tool: *tool,
                    failure: Failure::new(error.code, error.message),
                });
            }
        }
        for gone in asked.gone {
            report_removed(gone.waiting, effects);
        }
    }

    fn published_name(&self, key: ToolKey, registered: &[RegisteredTool]) -> Option<String> {
        let tool = self.tools.iter().find(|tool| tool.key == key)?;
        let registered = registered.iter().find(|found| found.name == tool.name)?;
        Some(registered.published_name.clone())
    }

    /// The connection is gone, and with it every answer under way. Tools go again on the next,
    /// and no client can call a removed one until then.
    pub(super) fn connection_lost(&mut self, effects: &mut Effects<V>) {
        for tool in &mut self.tools {
            if tool.told == Told::Now {
                tool.told = Told::Before;
            }
        }
        for asked in std::mem::take(&mut self.unanswered) {
            self.gone.extend(asked.gone);
        }
        for gone in &mut self.gone {
            report_removed(gone.waiting.take(), effects);
        }
    }

    /// Another life of the bridge, which never heard of any tool.
    pub(super) fn bridge_changed(&mut self) {
        self.gone.clear();
        for tool in &mut self.tools {
            tool.told = Told::Never;
        }
    }
}

fn report_removed<V>(waiting: Option<ToolKey>, effects: &mut Effects<V>) {
    if let Some(key) = waiting {
        effects.report(Report::ToolRemoved(key));
    }
}

fn too_large(name: &str, bytes: usize, limit: usize) -> Failure {
    let message = [
        "the definition of tool `",
        name,
        "` has ",
        &decimal(bytes as u64),
        " bytes; at most ",
        &decimal(limit as u64),
        " are allowed: shorten its schema or description",
    ];
    Failure::new(ErrorCode::ToolDefinitionInvalid.as_str(), message.concat())
}
