//! Runs at rest between two attempts.

use std::collections::BTreeMap;

/// The items at rest, by the number of their rest.
#[derive(Debug)]
pub(super) struct Resting<T> {
    next: u64,
    rests: BTreeMap<u64, Rest<T>>,
}

#[derive(Debug)]
struct Rest<T> {
    item: T,
    /// Whether the server has asked for a wait that is not over. Nothing shortens that.
    held: bool,
    /// Whether the rest ends with that wait.
    woken: bool,
}

impl<T> Default for Resting<T> {
    fn default() -> Self {
        Self {
            next: 0,
            rests: BTreeMap::new(),
        }
    }
}

impl<T> Resting<T> {
    /// Lays an item to rest, and returns the number of the rest. One that is `held` cannot be woken
    /// before its [release](Self::release).
    pub(super) fn add(&mut self, item: T, held: bool) -> u64 {
        let number = self.next;
        self.next += 1;
        let woken = false;
        self.rests.insert(number, Rest { item, held, woken });
        number
    }

    /// Ends the wait that the server asked for. Returns the item if it was woken meanwhile.
    pub(super) fn release(&mut self, number: u64) -> Option<T> {
        let rest = self.rests.get_mut(&number)?;
        rest.held = false;
        if rest.woken { self.end(number) } else { None }
    }

    /// Ends a rest. `None` if it has ended before.
    pub(super) fn end(&mut self, number: u64) -> Option<T> {
        Some(self.rests.remove(&number)?.item)
    }

    /// Wakes the items for which `wakes` is true, and returns those that are not held.
    pub(super) fn wake(&mut self, mut wakes: impl FnMut(&mut T) -> bool) -> Vec<T> {
        let mut awake = Vec::new();
        for (number, rest) in &mut self.rests {
            if !rest.woken && wakes(&mut rest.item) {
                rest.woken = true;
                awake.extend((!rest.held).then_some(*number));
            }
        }
        let awake = awake.into_iter();
        awake.filter_map(|number| self.end(number)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rest_ends_once() {
        let mut resting = Resting::default();
        let (a, b) = (resting.add('a', false), resting.add('b', false));
        assert_eq!(resting.wake(|item| *item == 'a'), ['a']);
        let c = resting.add('a', false);
        assert_eq!(resting.end(a), None, "the next rest of an item is another");
        assert_eq!((resting.end(b), resting.end(c)), (Some('b'), Some('a')));
    }

    #[test]
    fn a_held_item_is_woken_when_it_is_released() {
        let mut resting = Resting::default();
        let (a, b) = (resting.add('a', true), resting.add('b', true));
        assert_eq!(resting.wake(|item| *item == 'a'), [' '; 0]);
        assert_eq!(resting.release(a), Some('a'));
        assert_eq!(resting.release(b), None);
        assert_eq!(resting.wake(|_| true), ['b']);
    }
}
