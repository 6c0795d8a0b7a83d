//! What a forked child begins anew.

use std::ops::Deref;
use std::process;
use std::sync::OnceLock;

/// A value of this process alone. A fork copies it, but what it counts is the parent's, so a child
/// finds the wrong process id here and starts its own.
///
/// The values form a chain that only grows: no lock is involved that another thread of the parent
/// could have held at the moment of the fork.
#[derive(Debug)]
pub(crate) struct PerProcess<T> {
    id: u32,
    here: T,
    child: OnceLock<Box<PerProcess<T>>>,
}

impl<T: Default> Default for PerProcess<T> {
    fn default() -> Self {
        Self {
            id: process::id(),
            here: T::default(),
            child: OnceLock::new(),
        }
    }
}

impl<T: Default> Deref for PerProcess<T> {
    type Target = T;

    fn deref(&self) -> &T {
        let here = process::id();
        let mut found = self;
        while found.id != here {
            found = found.child.get_or_init(Box::default);
        }
        &found.here
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn another_process_begins_anew() {
        let own = PerProcess::<Cell<u8>>::default();
        own.set(7);
        assert_eq!(own.get(), 7);
        let inherited = PerProcess {
            id: process::id() + 1,
            ..own
        };
        assert_eq!(inherited.get(), 0);
        inherited.set(1);
        assert_eq!(inherited.get(), 1);
    }
}
