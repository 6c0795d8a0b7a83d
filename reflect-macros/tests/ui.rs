//! Compile errors of misuse, as one version of the compiler reports them.

use std::process::Command;

/// The version whose messages are in `ui/*.stderr`.
const TOOLCHAIN: &str = "rustc 1.95.";

#[test]
fn misuse_is_explained_where_it_happens() {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(rustc).arg("--version").output().unwrap();
    let version = String::from_utf8_lossy(&version.stdout);
    if !version.starts_with(TOOLCHAIN) {
        println!("skipped: {} is not {TOOLCHAIN}x", version.trim());
        return;
    }
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
