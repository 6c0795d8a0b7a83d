//! Mail addresses.

use super::names::is_word;

/// The mail addresses of a text.
pub(super) struct Addresses<'a> {
    text: &'a str,
    /// None begins before this, so that no run of characters is searched twice for an `@`.
    none_before: usize,
}

impl<'a> Addresses<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let end = text.len() + 1;
        let none_before = text.find('@').map_or(end, |_| 0);
        Self { text, none_before }
    }

    /// The length of the address, or the rest of one, that begins here, with those that join it. Asked for from
    /// left to right.
    pub(super) fn at(&mut self, at: usize) -> Option<usize> {
        if at < self.none_before {
            return None;
        }
        let mut end = at;
        loop {
            match address(&self.text[end..]) {
                Ok(length) => end += length,
                Err(_) if end > at => return Some(end - at),
                Err(none) => {
                    self.none_before = at + none;
                    return None;
                }
            }
        }
    }
}

/// Whether a character may be in the host of an address.
pub(super) fn is_host(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.' | '-')
}

/// Whether a character may be before the `@` of an address.
pub(super) fn is_local(c: char) -> bool {
    is_host(c) || c == '+'
}

/// The end of the address at the beginning of the text; if there is none, the end of the characters among which
/// none begins.
pub(super) fn address(text: &str) -> Result<usize, usize> {
    let local = text.find(|c| !is_local(c)).unwrap_or(text.len());
    let host = text[local..].strip_prefix('@').and_then(host);
    let end = host.map(|length| local + 1 + length).ok_or(local)?;
    if &text[..local] == "git" || is_remote(&text[end..]) {
        return Err(local);
    }
    Ok(end)
}

/// The length of the host of an address: labels with dots, to the last one that a top-level domain begins.
fn host(text: &str) -> Option<usize> {
    let end = text.find(|c| !is_host(c)).unwrap_or(text.len());
    if text[end..].starts_with('@') || !text.starts_with(is_word) || is_version(text) {
        return None;
    }
    let mut fits = None;
    let mut start = 0;
    for (place, label) in text[..end].split('.').enumerate() {
        let letters = label.find(|c: char| !c.is_alphabetic());
        let letters = letters.unwrap_or(label.len());
        let ends = matches!(label[letters..].chars().next(), None | Some('-'));
        if label.is_empty() {
            break;
        }
        if place > 0 && ends && label[..letters].chars().count() > 1 {
            fits = Some(start + letters);
        }
        start += label.len() + 1;
    }
    fits
}

/// Whether what follows an `@` is a version, as in `lodash@4.17.21` and `checkout@v4.1`.
fn is_version(text: &str) -> bool {
    let number = text.strip_prefix('v').unwrap_or(text);
    let rest = number.trim_start_matches(|c: char| c.is_ascii_digit());
    let minor = rest.strip_prefix('.').unwrap_or_default();
    rest.len() < number.len() && minor.starts_with(|c: char| c.is_ascii_digit())
}

/// Whether a path follows a host, as in `me@host.org:project/repository.git`.
fn is_remote(after: &str) -> bool {
    let is_path = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '~');
    let path = after.strip_prefix(':');
    path.is_some_and(|path| path.trim_start_matches(is_path).starts_with('/'))
}
