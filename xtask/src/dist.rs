//! The program as a release has it.

use std::path::Path;

use crate::run::{Outcome, cargo, target};

/// The largest program that is released.
const MOST_BYTES: u64 = 25_000_000;

/// Packs the addresses that the loader adjusts, half a megabyte, where linker and loader know how: a program for
/// GNU/Linux then needs glibc 2.36.
const PACKED: &str = "link-arg=-Wl,-z,pack-relative-relocs";

pub(crate) fn build() -> Outcome {
    let program = ["--package", "reflect-cli", "--bin", "reflect"];
    let mut build = vec!["rustc", "--release", "--locked"];
    build.extend(program);
    if cfg!(all(target_os = "linux", target_env = "gnu")) {
        build.extend(["--", "-C", PACKED]);
    }
    match cargo(&build, &[]) {
        Outcome::Passed => check(&target().join("release/reflect")),
        failed => failed,
    }
}

fn check(program: &Path) -> Outcome {
    let shown = program.display();
    let bytes = match program.metadata() {
        Ok(file) => file.len(),
        Err(error) => return Outcome::Failed(format!("{shown}: {error}")),
    };
    println!("{shown}: {bytes} bytes, at most {MOST_BYTES}");
    if bytes > MOST_BYTES {
        return Outcome::Failed(format!("{shown} has become too large"));
    }
    Outcome::Passed
}
