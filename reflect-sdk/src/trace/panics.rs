//! Which panic is passing through, and what it said.
//!
//! A destructor only learns *that* its thread is unwinding. A hook, chained before the one that is
//! installed, notes the message. Panics are numbered, so that a guard can tell one that began
//! during its life from one that was over before.
//!
//! What `resume_unwind` starts is seen by no hook. Behind a panic that was handled, it is told from
//! that one only if something of a run was used on the thread in between: a destructor does not learn
//! which panic unwinds it. What a guard says of a panic is therefore marked as uncertain.

use std::any::Any;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

/// The number of panics so far, on all threads.
static PANICS: AtomicU64 = AtomicU64::new(0);

/// What is known of a panic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Panic {
    pub(super) message: String,
    /// `src/agent.rs:7:9`
    pub(super) place: Option<String>,
    /// Whether it is certain to be the panic that ended the run, and not only the last one that was
    /// seen on the thread.
    pub(super) certain: bool,
}

impl Panic {
    /// The panic whose payload this is. Its place is known only if it was the last one here.
    pub(super) fn caught(payload: &(dyn Any + Send), since: &Mark) -> Self {
        let message = message(payload);
        let noted = noted_since(since.panics.load(Ordering::Relaxed));
        let place = noted
            .filter(|noted| noted.message == message)
            .and_then(|noted| noted.place);
        Self {
            message,
            place,
            certain: true,
        }
    }
}

/// A moment; panics that begin later can be told from those before.
#[derive(Debug, Default)]
pub(super) struct Mark {
    panics: AtomicU64,
    unwinding: AtomicBool,
}

impl Mark {
    pub(super) fn now() -> Self {
        hook::install();
        over();
        Self {
            panics: AtomicU64::new(PANICS.load(Ordering::Relaxed)),
            unwinding: AtomicBool::new(thread::panicking()),
        }
    }

    /// Moves the mark to this moment. Code that runs normally proves that all panics before it are
    /// over.
    pub(super) fn renew(&self) {
        over();
        if !thread::panicking() {
            self.panics
                .store(PANICS.load(Ordering::Relaxed), Ordering::Relaxed);
            self.unwinding.store(false, Ordering::Relaxed);
        }
    }

    /// The panic that began since the mark and is unwinding this thread.
    pub(super) fn panic(&self) -> Option<Panic> {
        if !thread::panicking() {
            return None;
        }
        let noted = noted_since(self.panics.load(Ordering::Relaxed));
        if noted.is_none() && self.unwinding.load(Ordering::Relaxed) {
            // Made in a destructor, while a panic was passing that has nothing to do with it.
            return None;
        }
        let silent = || Panic {
            message: "panicked".to_owned(),
            place: None,
            certain: true,
        };
        let last = noted.map(|noted| Panic {
            certain: false,
            ..noted
        });
        Some(last.unwrap_or_else(silent))
    }
}

/// Forgets the last panic of this thread, unless it is passing through. Whatever code runs normally
/// may say so.
pub(super) fn over() {
    if !thread::panicking() {
        hook::forget();
    }
}

fn message(payload: &(dyn Any + Send)) -> String {
    if let Some(text) = payload.downcast_ref::<&str>() {
        (*text).to_owned()
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text.clone()
    } else {
        "panicked with a value that is no text".to_owned()
    }
}

#[cfg(not(feature = "panic-hook"))]
fn noted_since(_: u64) -> Option<Panic> {
    None
}

#[cfg(feature = "panic-hook")]
use hook::noted_since;

#[cfg(not(feature = "panic-hook"))]
mod hook {
    pub(super) fn install() {}

    pub(super) fn forget() {}
}

#[cfg(feature = "panic-hook")]
mod hook {
    use std::cell::RefCell;
    use std::panic::{self, PanicHookInfo};
    use std::sync::Once;
    use std::sync::atomic::Ordering;
    use std::thread;

    use super::super::rescue;
    use super::{PANICS, Panic, message};

    static INSTALLED: Once = Once::new();

    thread_local! {
        /// The last panic of this thread, with its number.
        static LAST: RefCell<Option<(u64, Panic)>> = const { RefCell::new(None) };
    }

    pub(super) fn install() {
        // The hook cannot be changed while the thread unwinds; the next run will do it.
        if INSTALLED.is_completed() || thread::panicking() {
            return;
        }
        INSTALLED.call_once(|| {
            let chained = panic::take_hook();
            panic::set_hook(Box::new(move |info| {
                note(info);
                chained(info);
            }));
        });
    }

    pub(super) fn noted_since(number: u64) -> Option<Panic> {
        LAST.try_with(|last| {
            let last = last.try_borrow().ok()?;
            let (since, panic) = last.as_ref()?;
            (*since > number).then(|| panic.clone())
        })
        .ok()
        .flatten()
    }

    pub(super) fn forget() {
        // Without success while the thread ends.
        let _ = LAST.try_with(|last| {
            if let Ok(mut last) = last.try_borrow_mut() {
                *last = None;
            }
        });
    }

    fn note(info: &PanicHookInfo<'_>) {
        let number = PANICS.fetch_add(1, Ordering::Relaxed) + 1;
        let panic = Panic {
            message: message(info.payload()),
            place: info.location().map(ToString::to_string),
            certain: true,
        };
        rescue::panicked(&panic);
        // A panic while the thread ends goes unnoted; nothing may go wrong in here.
        let _ = LAST.try_with(|last| {
            if let Ok(mut last) = last.try_borrow_mut() {
                *last = Some((number, panic));
            }
        });
    }
}
