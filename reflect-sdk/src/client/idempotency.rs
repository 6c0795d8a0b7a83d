use std::hash::{BuildHasher, Hasher, RandomState};

/// A random UUID. The process id is part of it, because a forked child would otherwise draw the
/// same numbers as its parent, and the server would take its traces for repetitions.
pub(crate) fn idempotency_key() -> String {
    let half = || {
        let mut hasher = RandomState::new().build_hasher();
        hasher.write_u32(std::process::id());
        hasher.finish()
    };
    let (high, low) = (half(), half());
    format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xfff,
        (low >> 48) & 0x3fff | 0x8000,
        low & 0xffff_ffff_ffff
    )
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn idempotency_keys_are_distinct_uuids() {
        let keys: HashSet<String> = (0..10_000).map(|_| idempotency_key()).collect();
        assert_eq!(keys.len(), 10_000);
        for key in keys {
            let parts: Vec<usize> = key.split('-').map(str::len).collect();
            assert_eq!(parts, [8, 4, 4, 4, 12], "{key}");
            assert!(
                key.as_bytes()[14] == b'4' && b"89ab".contains(&key.as_bytes()[19]),
                "{key}"
            );
        }
    }
}
