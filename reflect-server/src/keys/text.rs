//! The text of a key, and the hash of its secret.

use reflect_types::Environment;
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::hex::{hex, random_hex};

const PUBLIC_BYTES: usize = 6;
const SECRET_BYTES: usize = 32;

/// The text of a key: `rf_live_<public>_<secret>`.
#[derive(Clone, Debug)]
pub struct KeyText {
    /// Live or test.
    pub environment: Environment,
    /// The part that is not secret.
    pub public_id: String,
    secret: SecretString,
}

impl KeyText {
    /// A new key with a secret of 256 random bits.
    pub fn generate(environment: Environment) -> Result<Self, getrandom::Error> {
        Ok(Self {
            environment,
            public_id: random_hex::<PUBLIC_BYTES>()?,
            secret: random_hex::<SECRET_BYTES>()?.into(),
        })
    }

    /// Parses a key; `None` if the text has another format.
    pub fn parse(text: &str) -> Option<Self> {
        let (environment, rest) = [Environment::Live, Environment::Test]
            .into_iter()
            .find_map(|environment| {
                let rest = text
                    .strip_prefix("rf_")?
                    .strip_prefix(environment.as_str())?;
                Some((environment, rest.strip_prefix('_')?))
            })?;
        let (public_id, secret) = rest.split_once('_')?;
        if public_id.is_empty() || secret.is_empty() {
            return None;
        }
        Some(Self {
            environment,
            public_id: public_id.to_owned(),
            secret: secret.into(),
        })
    }

    /// The whole text, secret included.
    pub fn reveal(&self) -> String {
        let (environment, public_id) = (&self.environment, &self.public_id);
        format!(
            "rf_{environment}_{public_id}_{}",
            self.secret.expose_secret()
        )
    }

    /// The hash of the secret.
    pub fn hash(&self) -> SecretHash {
        SecretHash::of(self.secret.expose_secret())
    }
}

/// The SHA-256 of a secret. A secret has 256 random bits, so a slower hash would not protect it more.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretHash(String);

impl SecretHash {
    /// Hashes a secret.
    pub fn of(secret: &str) -> Self {
        Self(hex(&Sha256::digest(secret.as_bytes())))
    }

    /// A hash that was stored as its text.
    pub(super) fn stored(text: String) -> Self {
        Self(text)
    }

    /// The hash in hexadecimal digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Compares two hashes in constant time.
    pub fn matches(&self, other: &Self) -> bool {
        self.0.as_bytes().ct_eq(other.0.as_bytes()).into()
    }
}

impl std::fmt::Debug for SecretHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretHash(***)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_is_parsed_as_it_was_written() {
        let key = KeyText::generate(Environment::Test).unwrap();
        let read = KeyText::parse(&key.reveal()).unwrap();
        assert_eq!(read.public_id, key.public_id);
        assert_eq!(read.environment, Environment::Test);
        assert!(read.hash().matches(&key.hash()));
    }

    #[test]
    fn secret_may_contain_underscores_but_must_not_be_empty() {
        let key = KeyText::parse("rf_live_abc123_secret_456").unwrap();
        assert_eq!(key.public_id, "abc123");
        assert!(key.hash().matches(&SecretHash::of("secret_456")));
        for text in [
            "",
            "rf_live_",
            "rf_live_abc",
            "rf_live_abc_",
            "rf_live__x",
            "rf_other_a_b",
            "sk-1",
        ] {
            assert!(KeyText::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn keys_are_unique_and_their_secrets_are_not_printed() {
        let [a, b] = [(); 2].map(|()| KeyText::generate(Environment::Live).unwrap());
        assert!(!a.hash().matches(&b.hash()));
        let secret = a.reveal().rsplit_once('_').unwrap().1.to_owned();
        assert_eq!(secret.len(), 64);
        assert!(!format!("{a:?} {:?}", a.hash()).contains(&secret));
    }
}
