//! Queries answered by a model that says what the test has written down, with the tools of a page
//! behind a real bridge.

mod calling;
mod dropping;
mod ending;
mod limits;
mod page;
mod script;
mod world;

use page::Page;
use script::{Script, calls, says, tool};
use world::{World, soon};
