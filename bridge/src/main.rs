//! `mcp-web-bridge`: the bridge as a program.

use std::process::ExitCode;

/// jemalloc returns the memory that a burst of requests has used to the system within 15 s, also if
/// nothing happens afterwards. glibc keeps all of it, and so does mimalloc until other allocations
/// make it look: 60 s after 300 simultaneous requests of 3.9 MB, a bridge holds 18 MB with jemalloc,
/// 137 MB or more with mimalloc and 885 MB with glibc. A call takes 5 % fewer instructions than with
/// glibc, or 20 % with schemas, and an idle page at most 2 % more memory.
#[cfg(all(unix, feature = "jemalloc"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    bridge::main(std::env::args_os().skip(1).collect())
}
