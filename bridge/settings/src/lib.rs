//! The settings of a program: each is a flag, an environment variable and a key of a TOML file.
//!
//! The flags of the program are the only description of its settings: a key of the file has the
//! name of its flag, with `_` in place of `-`, and goes through the parser of the flag. A flag
//! takes precedence over its variable, that over the file, and that over the default.
//!
//! The program has an argument `config` for the path of the file. Arguments named `print_config`
//! and `check_config` are not settings.
//!
//! [`LoadedSettings`] loads the settings and prints them. [`values`] has the parsers of values,
//! [`Secret`] those of secrets, and [`file_permissions`] checks who can read files with secrets.

mod error;
mod file;
pub mod file_permissions;
mod load;
mod print;
mod secret;
mod setting;
mod settings_table;
mod toml_values;
pub mod values;

pub use error::{LocatedError, SettingsFileError, unknown_key_message};
pub use file::{ConfigFile, FileTables};
pub use file_permissions::{warning_if_open_to_all, warning_if_open_to_others};
pub use load::{LoadError, LoadedSettings};
pub use print::may_have_credentials;
pub use secret::{Secret, parse_credential, parse_key};
pub use setting::{SettingKind, SettingValue};
pub use settings_table::SettingsTable;
pub use toml_values::flag_text;
