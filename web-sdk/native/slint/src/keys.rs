//! The keys of a keyboard, by their names on web pages.

use mcp_web_sdk::page::{ActionCode, ActionFailure};
use slint::SharedString;
use slint::platform::{Key, WindowEvent};

use crate::item;

/// Presses and releases a key, with its modifiers around it. The modifiers may also be a prefix of
/// its name: `Control+a`.
pub(crate) fn press(
    window: &slint::Window,
    key: &str,
    modifiers: &[String],
) -> Result<(), ActionFailure> {
    let (named, key) = split_modifiers(key);
    let text = text(key).ok_or_else(|| {
        let message = format!(
            "\"{key}\" is not a key of this window: use one character, or a name such as Enter or ArrowDown"
        );
        ActionFailure::new(ActionCode::ActionFailed, message)
    })?;
    let given = modifiers.iter().map(String::as_str);
    let modifiers: Vec<_> = given.chain(named).filter_map(modifier).collect();
    for modifier in &modifiers {
        item::send(window, pressed(modifier));
    }
    item::send(window, pressed(&text));
    item::send(window, released(&text));
    for modifier in modifiers.iter().rev() {
        item::send(window, released(modifier));
    }
    Ok(())
}

/// Returns the modifiers that prefix the name of a key, and the name.
fn split_modifiers(key: &str) -> (Vec<&str>, &str) {
    let mut modifiers = Vec::new();
    let mut rest = key;
    while let Some((first, after)) = rest.split_once('+') {
        if after.is_empty() || modifier(first).is_none() {
            break;
        }
        modifiers.push(first);
        rest = after;
    }
    (modifiers, rest)
}

fn pressed(text: &SharedString) -> WindowEvent {
    WindowEvent::KeyPressed { text: text.clone() }
}

fn released(text: &SharedString) -> WindowEvent {
    WindowEvent::KeyReleased { text: text.clone() }
}

fn modifier(name: &str) -> Option<SharedString> {
    let key = match name {
        "Alt" => Key::Alt,
        "Control" => Key::Control,
        "Meta" => Key::Meta,
        "Shift" => Key::Shift,
        _ => return None,
    };
    Some(key.into())
}

/// Returns the text that a key sends.
fn text(name: &str) -> Option<SharedString> {
    if name.chars().count() == 1 {
        return Some(name.into());
    }
    let key = match name {
        "ArrowDown" => Key::DownArrow,
        "ArrowLeft" => Key::LeftArrow,
        "ArrowRight" => Key::RightArrow,
        "ArrowUp" => Key::UpArrow,
        "Backspace" => Key::Backspace,
        "ContextMenu" => Key::Menu,
        "Delete" => Key::Delete,
        "End" => Key::End,
        "Enter" => Key::Return,
        "Escape" => Key::Escape,
        "Home" => Key::Home,
        "Insert" => Key::Insert,
        "PageDown" => Key::PageDown,
        "PageUp" => Key::PageUp,
        "Space" => Key::Space,
        "Tab" => Key::Tab,
        "F1" => Key::F1,
        "F2" => Key::F2,
        "F3" => Key::F3,
        "F4" => Key::F4,
        "F5" => Key::F5,
        "F6" => Key::F6,
        "F7" => Key::F7,
        "F8" => Key::F8,
        "F9" => Key::F9,
        "F10" => Key::F10,
        "F11" => Key::F11,
        "F12" => Key::F12,
        _ => return None,
    };
    Some(key.into())
}

#[cfg(test)]
mod tests {
    use super::{split_modifiers, text};

    #[test]
    fn a_key_is_a_character_or_a_known_name() {
        assert_eq!(text("a").as_deref(), Some("a"));
        assert_eq!(text("ß").as_deref(), Some("ß"));
        assert_eq!(text("Enter").as_deref(), Some("\n"));
        assert_eq!(text("Nothing"), None);
        assert_eq!(text(""), None);
    }

    #[test]
    fn modifiers_may_prefix_a_key() {
        assert_eq!(split_modifiers("a"), (vec![], "a"));
        assert_eq!(split_modifiers("+"), (vec![], "+"));
        assert_eq!(
            split_modifiers("Control+Shift+a"),
            (vec!["Control", "Shift"], "a")
        );
        assert_eq!(split_modifiers("Control++"), (vec!["Control"], "+"));
        assert_eq!(split_modifiers("x+y"), (vec![], "x+y"));
    }
}
