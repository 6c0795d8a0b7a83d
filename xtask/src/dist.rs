//! The program as a release has it.

use std::path::PathBuf;

use crate::run::{Outcome, cargo, target};

/// The largest program that is released.
const MOST_BYTES: u64 = 25_000_000;

/// Packs the addresses that the loader adjusts, which saves half a megabyte. The program then needs glibc 2.36.
const PACKED: &str = "link-arg=-Wl,-z,pack-relative-relocs";

pub(crate) fn run() -> Outcome {
    match build() {
        Ok(_) => Outcome::Passed,
        Err(problem) => Outcome::Failed(problem),
    }
}

/// Where the program is, after building it and checking its size.
pub(crate) fn build() -> Result<PathBuf, String> {
    let mut build = vec!["rustc", "--release", "--locked"];
    build.extend(["--package", "reflect-cli", "--bin", "reflect"]);
    if cfg!(all(target_os = "linux", target_env = "gnu")) {
        build.extend(["--", "-C", PACKED]);
    }
    if let Outcome::Failed(problem) = cargo(&build, &[]) {
        return Err(problem);
    }
    let program = target().join("release/reflect");
    let shown = program.display();
    let bytes = program
        .metadata()
        .map_err(|error| format!("{shown}: {error}"))?
        .len();
    println!("the program has {bytes} bytes, at most {MOST_BYTES}");
    if bytes > MOST_BYTES {
        return Err(format!("{shown} has become too large"));
    }
    Ok(program)
}
