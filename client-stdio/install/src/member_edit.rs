//! The changes of single members that turn an existing entry into ours.

use serde_json::{Map, Value};

use crate::client::{Client, Member, MemberValue};
use crate::client_entry::ClientEntry;

/// A change of one member of a document, at a path of keys.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum MemberEdit {
    Set(Vec<String>, Value),
    Remove(Vec<String>),
}

impl MemberEdit {
    /// Makes the change in a parsed document.
    pub(crate) fn apply(&self, document: &mut Map<String, Value>) {
        let (Self::Set(path, _) | Self::Remove(path)) = self;
        let Some((last, parents)) = path.split_last() else {
            return;
        };
        let mut object = document;
        for key in parents {
            let child = match self {
                Self::Set(..) => object
                    .entry(key.as_str())
                    .or_insert_with(|| Map::new().into()),
                Self::Remove(_) => match object.get_mut(key) {
                    Some(child) => child,
                    None => return,
                },
            };
            let Some(members) = child.as_object_mut() else {
                return;
            };
            object = members;
        }
        match self {
            Self::Set(_, value) => drop(object.insert(last.clone(), value.clone())),
            Self::Remove(_) => drop(object.shift_remove(last)),
        }
    }
}

/// Returns the changes that turn the existing entry of a client, if there is one, into ours. The
/// person's own members, variables and headers stay, and so does a setting that has a default.
pub(crate) fn edits(
    client: &Client,
    existing: Option<&Value>,
    entry: &ClientEntry,
    members: &[Member],
) -> Vec<MemberEdit> {
    let path = |keys: &[&str]| -> Vec<String> {
        let keys = [client.key, entry.name.as_str()]
            .into_iter()
            .chain(keys.iter().copied());
        keys.map(str::to_owned).collect()
    };
    let Some(existing) = existing.and_then(Value::as_object) else {
        return vec![MemberEdit::Set(path(&[]), entry.value(members))];
    };
    let mut edits = Vec::new();
    for member in client.stdio.iter().chain(client.http.unwrap_or_default()) {
        let is_wanted = members.iter().any(|it| it.key == member.key);
        if !is_wanted && existing.contains_key(member.key) {
            edits.push(MemberEdit::Remove(path(&[member.key])));
        }
    }
    for Member { key, content } in members {
        let wanted = entry.content(*content);
        let current = existing.get(*key);
        match (
            content,
            current.and_then(Value::as_object),
            wanted.as_object(),
        ) {
            (MemberValue::Variables | MemberValue::Headers, Some(current), Some(values)) => {
                let changed = values
                    .iter()
                    .filter(|(name, value)| current.get(*name) != Some(value));
                edits.extend(
                    changed.map(|(name, value)| MemberEdit::Set(path(&[key, name]), value.clone())),
                );
            }
            (MemberValue::Default(_), ..) if current.is_some() => {}
            _ if current == Some(&wanted) => {}
            _ => edits.push(MemberEdit::Set(path(&[key]), wanted)),
        }
    }
    edits
}

#[cfg(test)]
mod tests {
    use bridge_settings::Secret;
    use serde_json::json;

    use super::*;
    use crate::client_entry::EntryTransport;
    use crate::client_table::client;

    fn changed(existing: &Value, transport: EntryTransport, id: &str) -> Value {
        let client = client(id).unwrap();
        let entry = ClientEntry {
            name: "web".to_owned(),
            program: "/new".to_owned(),
            url: "http://b/mcp".to_owned(),
            token: Some(Secret::from_trusted("new".to_owned())),
            transport,
        };
        let mut document = Map::new();
        document.insert(client.key.to_owned(), json!({ "web": existing }));
        let members = entry.members(client).unwrap();
        for edit in edits(client, Some(existing), &entry, members) {
            edit.apply(&mut document);
        }
        document[client.key]["web"].clone()
    }

    #[test]
    fn an_old_entry_gets_the_new_program_and_token_and_keeps_the_rest() {
        let old = json!({
            "command": "/old", "args": ["stdio", "x"], "disabled": true, "autoApprove": ["a"],
            "env": { "MCP_WEB_SESSION": "1", "AUTH_TOKEN": "old" },
        });
        assert_eq!(
            changed(&old, EntryTransport::Stdio, "cline"),
            json!({
                "command": "/new", "args": ["stdio"], "disabled": true, "autoApprove": ["a"],
                "env": { "MCP_WEB_SESSION": "1", "AUTH_TOKEN": "new", "MCP_SERVER_URL": "http://b/mcp" },
            })
        );
    }

    #[test]
    fn another_transport_replaces_the_members_of_the_former() {
        let old = json!({ "type": "stdio", "command": "/old", "args": [], "env": {}, "x": 1 });
        let http = json!({
            "type": "http", "x": 1, "url": "http://b/mcp", "headers": { "Authorization": "Bearer new" },
        });
        assert_eq!(changed(&old, EntryTransport::Http, "vscode"), http);
        let stdio = changed(&http, EntryTransport::Stdio, "vscode");
        assert_eq!(stdio["command"], "/new");
        assert!(
            stdio.get("url").is_none() && stdio.get("headers").is_none(),
            "{stdio}"
        );
        assert_eq!(stdio["x"], 1);
    }
}
