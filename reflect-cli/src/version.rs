//! What `reflect --version` says.

use std::sync::LazyLock;

/// The version, the commit of a release build, and the optional parts.
pub(crate) static VERSION: LazyLock<String> = LazyLock::new(|| {
    let parts = reflect_server::FEATURES.iter().copied();
    let parts: Vec<&str> = std::iter::once(env!("REFLECT_BUILD"))
        .chain(parts)
        .collect();
    format!("{} ({})", env!("CARGO_PKG_VERSION"), parts.join(", "))
});
