//! Files that pages load: style, scripts and the icon. Their addresses change with their contents, so
//! that a browser may keep them.

use std::sync::LazyLock;

use reflect_types::fnv_1a;

/// A file.
#[derive(Debug)]
pub struct Asset {
    name: &'static str,
    /// The media type.
    pub media_type: &'static str,
    /// The contents.
    pub contents: &'static str,
    address: LazyLock<String>,
}

macro_rules! asset {
    ($(#[$meta:meta])* $constant:ident, $name:literal, $media_type:literal, $file:literal) => {
        $(#[$meta])*
        pub static $constant: Asset = Asset {
            name: $name,
            media_type: $media_type,
            contents: include_str!($file),
            address: LazyLock::new(|| address($name, include_str!($file))),
        };
    };
}

asset!(
    /// The style of all pages.
    STYLE, "console.css", "text/css; charset=utf-8", "../assets/console.css"
);
asset!(
    /// Keys and other behaviour of the pages.
    SCRIPT, "console.js", "text/javascript; charset=utf-8", "../assets/console.js"
);
asset!(
    /// htmx, which replaces parts of a page.
    HTMX, "htmx.js", "text/javascript; charset=utf-8", "../assets/htmx/htmx.min.js"
);
asset!(
    /// The icon.
    ICON, "icon.svg", "image/svg+xml", "../assets/icon.svg"
);

impl Asset {
    /// The address, with a version that changes with the contents.
    pub fn address(&'static self) -> &'static str {
        &self.address
    }
}

/// The file of this name.
pub fn find(name: &str) -> Option<&'static Asset> {
    [&STYLE, &SCRIPT, &HTMX, &ICON]
        .into_iter()
        .find(|asset| asset.name == name)
}

fn address(name: &str, contents: &str) -> String {
    format!("/assets/{name}?v={:016x}", fnv_1a(contents))
}
