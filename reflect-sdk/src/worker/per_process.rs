//! What a forked child begins anew.

use std::mem;
use std::ops::Deref;
use std::process;
use std::sync::{Arc, OnceLock};

/// A value of this process alone. A fork copies it, but what it counts, or drives, is the parent's,
/// so a child finds the wrong process id here and starts its own.
///
/// The values form a chain that only grows: no lock is involved that another thread of the parent
/// could have held at the moment of the fork.
#[derive(Debug)]
pub(crate) struct PerProcess<T> {
    id: u32,
    here: Arc<T>,
    child: OnceLock<Box<PerProcess<T>>>,
}

impl<T> PerProcess<T> {
    pub(crate) fn new(here: T) -> Self {
        Self {
            id: process::id(),
            here: Arc::new(here),
            child: OnceLock::new(),
        }
    }

    /// The value of this process, unless it has none yet.
    pub(crate) fn get(&self) -> Option<&T> {
        let here = process::id();
        let mut found = self;
        while found.id != here {
            found = found.child.get()?;
        }
        Some(&found.here)
    }

    /// The value of this process; where it has none yet, one that is made from the inherited one.
    pub(crate) fn get_or_make(&self, make: impl Fn(&T) -> T) -> &T {
        let here = process::id();
        let mut found = self;
        while found.id != here {
            found = found
                .child
                .get_or_init(|| Box::new(Self::new(make(&self.here))));
        }
        &found.here
    }
}

impl<T: Default> Default for PerProcess<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T: Default> Deref for PerProcess<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.get_or_make(|_| T::default())
    }
}

impl<T> Drop for PerProcess<T> {
    fn drop(&mut self) {
        // Ending the parent's thread, or closing its connections, is not the child's business.
        if self.id != process::id() {
            mem::forget(Arc::clone(&self.here));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// As a child of this process would find it.
    fn inherited<T>(mut own: PerProcess<T>) -> PerProcess<T> {
        own.id += 1;
        own
    }

    #[test]
    fn another_process_begins_anew() {
        let own = PerProcess::<Cell<u8>>::default();
        own.set(7);
        assert_eq!(PerProcess::get(&own).map(Cell::get), Some(7));
        let inherited = inherited(own);
        assert!(PerProcess::get(&inherited).is_none());
        assert_eq!((*inherited).get(), 0);
        inherited.set(1);
        assert_eq!(PerProcess::get(&inherited).map(Cell::get), Some(1));
    }

    #[test]
    fn what_a_child_makes_of_its_inheritance_is_its_own_and_the_rest_is_not_its_to_end() {
        let (parents, childs) = (Arc::new(()), Arc::new(()));
        let inherited = inherited(PerProcess::new(Arc::clone(&parents)));
        let made = inherited.get_or_make(|inherited| {
            assert!(Arc::ptr_eq(inherited, &parents));
            Arc::clone(&childs)
        });
        assert!(Arc::ptr_eq(made, &childs));
        drop(inherited);
        let kept = (Arc::strong_count(&parents), Arc::strong_count(&childs));
        assert_eq!(kept, (2, 1));
    }
}
