//! Sessions of signed-in browsers, in memory: a restart of the server ends them.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sha2::{Digest as _, Sha256};

use crate::hex::random_hex;

/// A session ends after this time without a request.
const MAX_IDLE: Duration = Duration::from_secs(12 * 60 * 60);
/// A session ends at this age.
const MAX_AGE: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// A further session ends the one that has been idle longest.
const MAX_SESSIONS: usize = 10_000;
/// A further session of a key ends the one of that key that has been idle longest.
const MAX_SESSIONS_OF_A_KEY: usize = 200;
/// A link that signs in is valid for this time.
const LINK_AGE: Duration = Duration::from_secs(10 * 60);

/// The sessions of a server.
#[derive(Default)]
pub(crate) struct Sessions {
    /// By the hash of the token, so that a lookup takes the same time for every wrong token.
    table: Mutex<HashMap<[u8; 32], Entry>>,
    /// Links that have not been used: the name of the key, and since when. By the hash of the token.
    links: Mutex<HashMap<[u8; 32], (String, Instant)>>,
}

struct Entry {
    session: Session,
    started: Instant,
    last_used: Instant,
}

/// A session.
#[derive(Clone)]
pub(crate) struct Session {
    /// The name of the key that signed in. Every request checks that the key is still valid.
    pub(crate) key_name: String,
    /// The token that every change has to bring along.
    pub(crate) csrf: String,
}

impl Sessions {
    /// Starts a session of a key and returns its token.
    pub(crate) fn start(&self, key_name: &str) -> Result<String, getrandom::Error> {
        let (token, csrf) = (random()?, random()?);
        let now = Instant::now();
        let mut table = lock(&self.table);
        table.retain(|_, entry| entry.is_open(now));
        end_oldest(&mut table, MAX_SESSIONS_OF_A_KEY, |entry| {
            entry.session.key_name == key_name
        });
        end_oldest(&mut table, MAX_SESSIONS, |_| true);
        let session = Session {
            key_name: key_name.to_owned(),
            csrf,
        };
        table.insert(
            hash(&token),
            Entry {
                session,
                started: now,
                last_used: now,
            },
        );
        Ok(token)
    }

    /// The token of a link that signs in once, for a few minutes.
    pub(crate) fn link(&self, key_name: &str) -> Result<String, getrandom::Error> {
        let token = random()?;
        let mut links = lock(&self.links);
        links.retain(|_, (_, since)| since.elapsed() < LINK_AGE);
        links.insert(hash(&token), (key_name.to_owned(), Instant::now()));
        Ok(token)
    }

    /// The name of the key of a link, which is then used up.
    pub(crate) fn use_link(&self, token: &str) -> Option<String> {
        let (key_name, since) = lock(&self.links).remove(&hash(token))?;
        (since.elapsed() < LINK_AGE).then_some(key_name)
    }

    /// The session of a token.
    pub(crate) fn find(&self, token: &str) -> Option<Session> {
        let now = Instant::now();
        let mut table = lock(&self.table);
        let entry = table.get_mut(&hash(token))?;
        if !entry.is_open(now) {
            return None;
        }
        entry.last_used = now;
        Some(entry.session.clone())
    }

    /// Ends the session of a token.
    pub(crate) fn end(&self, token: &str) {
        lock(&self.table).remove(&hash(token));
    }
}

impl Entry {
    fn is_open(&self, now: Instant) -> bool {
        now.duration_since(self.last_used) < MAX_IDLE && now.duration_since(self.started) < MAX_AGE
    }
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sessions").finish_non_exhaustive()
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("key_name", &self.key_name)
            .finish_non_exhaustive()
    }
}

/// Makes room for one more of the sessions that are counted.
fn end_oldest(
    table: &mut HashMap<[u8; 32], Entry>,
    most: usize,
    is_counted: impl Fn(&Entry) -> bool,
) {
    let counted = || table.iter().filter(|(_, entry)| is_counted(entry));
    if counted().count() < most {
        return;
    }
    let oldest = counted().min_by_key(|(_, entry)| entry.last_used);
    if let Some(oldest) = oldest.map(|(hash, _)| *hash) {
        table.remove(&oldest);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

/// 256 random bits in hexadecimal.
pub(crate) fn random() -> Result<String, getrandom::Error> {
    random_hex::<32>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_found_by_its_token_until_it_ends() {
        let sessions = Sessions::default();
        let (one, two) = (sessions.start("a").unwrap(), sessions.start("b").unwrap());
        assert_ne!(one, two);
        let found = sessions.find(&one).unwrap();
        assert_eq!(found.key_name, "a");
        assert_ne!(found.csrf, sessions.find(&two).unwrap().csrf);
        sessions.end(&one);
        assert!(sessions.find(&one).is_none());
        assert!(sessions.find(&two).is_some());
        assert!(sessions.find("").is_none());
    }

    #[test]
    fn many_sessions_of_a_key_end_no_session_of_another_one() {
        let sessions = Sessions::default();
        let other = sessions.start("other").unwrap();
        let first = sessions.start("busy").unwrap();
        for _ in 0..MAX_SESSIONS_OF_A_KEY {
            sessions.start("busy").unwrap();
        }
        assert!(sessions.find(&first).is_none());
        assert!(sessions.find(&other).is_some());
        assert_eq!(lock(&sessions.table).len(), MAX_SESSIONS_OF_A_KEY + 1);
    }

    #[test]
    fn a_link_signs_in_once() {
        let sessions = Sessions::default();
        let token = sessions.link("a").unwrap();
        assert_eq!(sessions.use_link("guess"), None);
        assert_eq!(sessions.use_link(&token).as_deref(), Some("a"));
        assert_eq!(sessions.use_link(&token), None);
    }

    #[test]
    fn an_idle_or_old_session_is_closed() {
        let now = Instant::now();
        let Some(past) = now.checked_sub(MAX_AGE) else {
            // The clock of a computer that has just started.
            return;
        };
        let entry = |started, last_used| Entry {
            session: Session {
                key_name: String::new(),
                csrf: String::new(),
            },
            started,
            last_used,
        };
        assert!(entry(now, now).is_open(now));
        assert!(!entry(past, now).is_open(now));
        assert!(!entry(now, now).is_open(now + MAX_IDLE));
    }
}
