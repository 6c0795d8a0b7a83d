//! State that a forked child does not inherit.

use std::mem;
use std::ops::Deref;
use std::process;
use std::sync::{Arc, OnceLock};

/// A value of one process. A fork copies it, but what it counts or drives belongs to the parent, so a
/// child finds another process id and makes a value of its own.
///
/// The values form a chain that only grows: there is no lock that another thread of the parent could
/// hold at the moment of the fork.
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

    /// The value of this process, if it has one.
    pub(crate) fn get(&self) -> Option<&T> {
        let here = process::id();
        let mut found = self;
        while found.id != here {
            found = found.child.get()?;
        }
        Some(&found.here)
    }

    /// The value of this process, made from the inherited one if necessary.
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
        // The parent's thread and connections are not the child's to end.
        if self.id != process::id() {
            mem::forget(Arc::clone(&self.here));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// The value as a child of this process finds it.
    fn inherited<T>(mut own: PerProcess<T>) -> PerProcess<T> {
        own.id += 1;
        own
    }

    #[test]
    fn another_process_has_a_value_of_its_own() {
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
    fn a_child_drops_its_own_value_and_not_the_inherited_one() {
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
