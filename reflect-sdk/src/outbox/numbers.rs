//! Numbers for runs, and which of them are settled.

use std::collections::VecDeque;

/// Issues numbers in order, and settles them in any order.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    /// The first number that is not settled.
    first: u64,
    /// From that number on: whether it is settled.
    settled: VecDeque<bool>,
}

impl Numbers {
    /// The number that is issued next.
    pub(super) fn next(&self) -> u64 {
        self.first + self.settled.len() as u64
    }

    /// Issues the next number.
    pub(super) fn issue(&mut self) -> u64 {
        let number = self.next();
        self.settled.push_back(false);
        number
    }

    /// Whether all numbers before the mark are settled.
    pub(super) fn are_settled(&self, mark: u64) -> bool {
        self.first >= mark
    }

    /// Settles a number; `false` if it was settled before, or never issued.
    pub(super) fn settle(&mut self, number: u64) -> bool {
        let place = number.checked_sub(self.first);
        let place = place.and_then(|place| usize::try_from(place).ok());
        let Some(settled) = place.and_then(|place| self.settled.get_mut(place)) else {
            return false;
        };
        let is_new = !std::mem::replace(settled, true);
        while self.settled.front() == Some(&true) {
            self.settled.pop_front();
            self.first += 1;
        }
        is_new
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_mark_is_reached_with_the_last_number_before_it_in_any_order(
            order in Just((0..40_u64).collect::<Vec<_>>()).prop_shuffle(),
            mark in 0..=40_u64,
        ) {
            let mut numbers = Numbers::default();
            let mut left: BTreeSet<u64> = (0..40).map(|_| numbers.issue()).collect();
            for number in order {
                let reached = left.range(..mark).next().is_none();
                prop_assert_eq!(numbers.are_settled(mark), reached);
                prop_assert!(numbers.settle(number));
                prop_assert!(!numbers.settle(number), "{} counts once", number);
                left.remove(&number);
            }
            prop_assert!(numbers.are_settled(40));
            prop_assert!(!numbers.settle(40), "it was never issued");
            prop_assert_eq!(numbers.next(), 40);
        }
    }
}
