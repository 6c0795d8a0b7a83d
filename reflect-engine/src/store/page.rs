//! The length of pages, which end after a number of bytes too.

use reflect_types::{ArchivedReview, MemoryHistory};

/// The bytes after which a page ends. A longer record is a page of its own.
pub(super) const PAGE_BYTES: usize = 4 * 1024 * 1024;

/// The share of a memory's events and changes in the bytes of a page.
pub(super) fn history_bytes(history: &MemoryHistory, set_aside: usize) -> usize {
    const EVENT_BYTES: usize = 320;
    /// A change may hold a text before and after it.
    const CHANGE_BYTES: usize = 8 * 1024;

    let events = (history.events.len() + set_aside) * EVENT_BYTES;
    events + history.changes.len() * CHANGE_BYTES
}

/// The share of past reviews in the bytes of a page.
pub(super) fn reviews_bytes(reviews: &[ArchivedReview]) -> usize {
    /// Of the fields of bounded length.
    const REVIEW_BYTES: usize = 1024;

    let texts = reviews.iter().filter_map(|past| past.review.as_ref());
    let texts = texts.map(|review| {
        let feedback = review.feedback_text.as_ref().map_or(0, String::len);
        let learned = review
            .learned
            .as_ref()
            .map_or(0, |learned| learned.text().len());
        feedback + learned
    });
    texts.sum::<usize>() + reviews.len() * REVIEW_BYTES
}
