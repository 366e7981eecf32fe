//! JSON values, without a library: pages use the browser's JSON, and native programs have their own
//! library.

/// A JSON value.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Value {
    /// `null`, or absent.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number.
    Number(f64),
    /// A string.
    String(String),
    /// An array.
    Array(Vec<Value>),
    /// An object; its members keep their order.
    Object(Vec<(String, Value)>),
}

impl Value {
    /// Returns a member of an object unless it is `null`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        let Self::Object(members) = self else {
            return None;
        };
        let member = members.iter().find(|(member, _)| member == name);
        member
            .map(|(_, value)| value)
            .filter(|value| **value != Self::Null)
    }

    /// Returns the text if this is a string.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the number if this is one.
    #[must_use]
    pub fn as_number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// Returns whether this is `true`.
    #[must_use]
    pub fn is_true(&self) -> bool {
        *self == Self::Bool(true)
    }

    /// Returns the items if this is an array.
    #[must_use]
    pub fn as_array(&self) -> Option<&[Value]> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    /// Returns the text of a member that is a string.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<String> {
        self.get(name)?.as_str().map(str::to_owned)
    }

    /// Returns the texts of a member that is an array of strings; other items are left out.
    #[must_use]
    pub fn texts(&self, name: &str) -> Vec<String> {
        let items = self.get(name).and_then(Self::as_array).unwrap_or_default();
        items
            .iter()
            .filter_map(|item| item.as_str().map(str::to_owned))
            .collect()
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::String(text)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Self::Number(f64::from(number))
    }
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(items: Vec<T>) -> Self {
        Self::Array(items.into_iter().map(Into::into).collect())
    }
}

/// Builds an object; members without a value are left out.
#[derive(Debug, Default)]
pub(crate) struct ObjectBuilder(Vec<(String, Value)>);

impl ObjectBuilder {
    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.push((name.to_owned(), value.into()));
        self
    }

    pub(crate) fn with_option(self, name: &str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    pub(crate) fn build(self) -> Value {
        Value::Object(self.0)
    }
}
