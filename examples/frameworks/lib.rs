//! Agents of Rust frameworks: `cargo run --example rig`.
