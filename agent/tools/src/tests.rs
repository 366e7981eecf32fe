//! Sources and profiles, and the calls of their tools.

mod naming;
mod pipeline;
mod slow_source;
mod starting;

pub(crate) use slow_source::SlowSource;

use std::sync::Arc;
use std::time::Duration;

use bridge_protocol::QueryCaller;
use serde_json::{Map, Value, json};

use crate::testing::*;
use crate::*;
