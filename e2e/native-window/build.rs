//! Lets the macro `slint!` keep the names of elements, by which the driver finds them.

fn main() {
    println!("cargo::rustc-env=SLINT_EMIT_DEBUG_INFO=1");
    println!("cargo::rerun-if-changed=build.rs");
}
