//! The handles of the elements of a window.

use std::collections::{BTreeMap, HashMap};

use crate::item::{Address, Item, WeakItem};

/// The handles `e1`, `e2`… of a window. A number is never reused, and names one element for its
/// lifetime.
#[derive(Default)]
pub(crate) struct Handles {
    latest: u32,
    /// The elements, and their numbers. The weak reference keeps the address from being used again.
    numbers: HashMap<Address, (WeakItem, u32)>,
    addresses: BTreeMap<u32, Address>,
}

/// The result of looking up a handle.
pub(crate) enum Named {
    Item(Item),
    /// An element that no longer exists.
    Stale,
    /// The handle never existed.
    Unknown,
}

impl Handles {
    /// Returns the handle of an element, and assigns one on the first call.
    pub(crate) fn of(&mut self, item: &Item) -> String {
        let address = item.address();
        let number = match self.numbers.get(&address) {
            Some((_, number)) => *number,
            None => {
                self.latest += 1;
                self.numbers
                    .insert(address, (item.downgrade(), self.latest));
                self.addresses.insert(self.latest, address);
                self.latest
            }
        };
        format!("e{number}")
    }

    pub(crate) fn item(&self, reference: &str) -> Named {
        let Some(number) = parse(reference).filter(|number| (1..=self.latest).contains(number))
        else {
            return Named::Unknown;
        };
        let address = self.addresses.get(&number);
        let weak = address.and_then(|address| self.numbers.get(address));
        weak.and_then(|(weak, _)| weak.upgrade())
            .map_or(Named::Stale, Named::Item)
    }

    /// Removes elements that no longer exist, and the oldest beyond `most`. Their handles are stale
    /// afterwards.
    pub(crate) fn forget_gone(&mut self, most: usize) {
        let mut excess = self.addresses.len().saturating_sub(most);
        let numbers = &mut self.numbers;
        self.addresses.retain(|_, address| {
            let lives = numbers
                .get(address)
                .is_some_and(|(weak, _)| weak.upgrade().is_some());
            let stays = lives && excess == 0;
            if !stays {
                excess = excess.saturating_sub(1);
                numbers.remove(address);
            }
            stays
        });
    }
}

/// Parses a handle. Its number has only one valid spelling.
fn parse(reference: &str) -> Option<u32> {
    let digits = reference.strip_prefix('e')?;
    let number: u32 = digits.parse().ok()?;
    (number.to_string() == digits).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_has_only_one_spelling() {
        assert_eq!(parse("e12"), Some(12));
        for text in ["12", "e", "e012", "e+1", "e1 ", "E1", "e99999999999"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
