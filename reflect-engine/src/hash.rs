//! Hashes that may be stored.

use std::hash::{BuildHasher, Hasher, RandomState};

use siphasher::sip::SipHasher13;

/// A hash with a key of its own, so that collisions cannot be forced.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyedHash {
    key: [u64; 2],
}

impl KeyedHash {
    pub(crate) fn of(self, bytes: &[u8]) -> u64 {
        let [first, second] = self.key;
        let mut hasher = SipHasher13::new_with_keys(first, second);
        hasher.write(bytes);
        hasher.finish()
    }
}

impl Default for KeyedHash {
    /// With a new key.
    fn default() -> Self {
        Self {
            key: [1, 2].map(|half| RandomState::new().hash_one(half)),
        }
    }
}

/// 64-bit FNV-1a, the same on every platform and in every version, since stored vectors depend on it.
#[derive(Clone, Copy)]
pub(crate) struct Fnv(u64);

impl Fnv {
    pub(crate) const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    #[must_use]
    pub(crate) const fn byte(self, byte: u8) -> Self {
        Self((self.0 ^ byte as u64).wrapping_mul(0x0000_0100_0000_01b3))
    }

    #[must_use]
    pub(crate) fn bytes(self, bytes: &[u8]) -> Self {
        bytes.iter().fold(self, |hash, byte| hash.byte(*byte))
    }

    /// The hash with its bits mixed by `MurmurHash3`'s finaliser: the upper bits of FNV-1a barely
    /// differ for short inputs.
    pub(crate) const fn finish(self) -> u64 {
        let mut hash = self.0;
        hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        hash ^ (hash >> 33)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_the_published_fnv_1a() {
        assert_eq!(Fnv::new().bytes(b"").0, 0xcbf2_9ce4_8422_2325);
        assert_eq!(Fnv::new().bytes(b"a").0, 0xaf63_dc4c_8601_ec8c);
        assert_eq!(Fnv::new().bytes(b"foobar").0, 0x8594_4171_f739_67e8);
    }

    #[test]
    fn stored_vectors_depend_on_these_values() {
        assert_eq!(Fnv::new().bytes(b"foobar").finish(), 0x2c22_1949_22d1_672b);
    }
}
