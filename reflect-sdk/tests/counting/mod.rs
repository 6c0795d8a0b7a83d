//! Counts what a thread allocates. It counts for the whole process of whoever includes it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

/// Counts what the thread allocates.
struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

#[expect(unsafe_code, reason = "there is no other way to see an allocation")]
// SAFETY: it is the system's allocator, which is only looked at.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// How often the thread allocates meanwhile.
pub(crate) fn allocations(body: impl FnOnce()) -> usize {
    let before = ALLOCATIONS.get();
    body();
    ALLOCATIONS.get() - before
}
