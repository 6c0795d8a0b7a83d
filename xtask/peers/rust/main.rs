//! Ours, and other Rust SDKs, for the tables of `cargo xtask bench peers`, a line each: what it is, its number and a
//! note, with tabs between them.

mod sdks;
mod stores;

use std::error::Error;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["sdks", sink] => sdks::measure(sink),
        ["traces"] => stores::traces(),
        ["vectors", folder] => stores::vectors(folder.as_ref()),
        _ => Err("sdks ADDRESS, traces or vectors FOLDER".into()),
    }
}

fn row(what: &str, value: f64, note: &str) {
    println!("{what}\t{value}\t{note}");
}

/// Who says each message of the run that all are measured with, and what.
fn messages() -> impl Iterator<Item = (&'static str, String)> {
    let turn = "The customer asks for a refund of an order that is older than thirty days. ".repeat(4);
    let role = |n| if n % 2 == 0 { "user" } else { "assistant" };
    (0..13).map(move |n| (role(n), format!("{n}: {turn}")))
}

/// The CPU time of all threads of this process.
fn cpu_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).unwrap_or_default()
}
