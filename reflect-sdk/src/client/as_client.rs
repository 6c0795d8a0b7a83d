//! Whose client a traced function uses.

use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, LazyLock, Once, OnceLock};

use super::{Async, ReflectClient};

/// What may stand behind `client =`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a client",
    label = "this is not a `ReflectClient`, nor a reference, an `Arc` or an `Option` of one",
    note = "the value of `client` is borrowed: write `client = self.client`"
)]
pub trait AsClient {
    /// The client; `None` where there is none, or where it is disabled.
    fn as_client(&self) -> Option<ReflectClient>;
}

impl<M> AsClient for ReflectClient<M> {
    #[inline]
    fn as_client(&self) -> Option<ReflectClient> {
        if self.core().is_enabled() {
            return Some(self.as_async());
        }
        None
    }
}

impl<M> ReflectClient<M> {
    // Out of the way of calls that are not traced.
    #[cold]
    #[inline(never)]
    fn as_async(&self) -> ReflectClient<Async> {
        ReflectClient {
            handle: Arc::clone(&self.handle),
            mode: PhantomData,
        }
    }
}

macro_rules! through {
    ($([$($generic:tt)*] $type:ty),* $(,)?) => {$(
        impl<$($generic)*> AsClient for $type {
            #[inline]
            fn as_client(&self) -> Option<ReflectClient> {
                T::as_client(self)
            }
        }
    )*};
}

through! {
    [T: AsClient + ?Sized] &T,
    [T: AsClient + ?Sized] &mut T,
    [T: AsClient + ?Sized] Box<T>,
    [T: AsClient + ?Sized] Rc<T>,
    [T: AsClient + ?Sized] Arc<T>,
    [T: AsClient, F: FnOnce() -> T] LazyLock<T, F>,
}

impl<T: AsClient> AsClient for Option<T> {
    #[inline]
    fn as_client(&self) -> Option<ReflectClient> {
        self.as_ref().and_then(T::as_client)
    }
}

impl<T: AsClient> AsClient for OnceLock<T> {
    #[inline]
    fn as_client(&self) -> Option<ReflectClient> {
        self.get().and_then(T::as_client)
    }
}

/// Stands for the client of whoever calls: the one in [scope](ReflectClient::scope), else the
/// [installed](ReflectClient::install) one.
#[derive(Clone, Copy, Debug)]
pub struct Installed;

/// What is known about clients without looking for one, so that where none is, nothing is paid.
static KNOWN: AtomicU8 = AtomicU8::new(NOTHING);

/// There may be none, and nobody was told.
const NOTHING: u8 = 0;
/// There is none, as was told.
const NONE: u8 = 1;
/// One was installed or put in scope.
const ANY: u8 = 2;

/// From now on it is worth looking for one.
pub(super) fn note_that_there_is_one() {
    KNOWN.store(ANY, Ordering::Relaxed);
}

impl AsClient for Installed {
    #[inline]
    fn as_client(&self) -> Option<ReflectClient> {
        if KNOWN.load(Ordering::Relaxed) == NONE {
            return None;
        }
        look_for_one()
    }
}

#[cold]
#[inline(never)]
fn look_for_one() -> Option<ReflectClient> {
    let found = ReflectClient::in_charge().or_else(ReflectClient::global);
    if found.is_none() {
        warn_once();
        // Unless one has come meanwhile.
        let _ = KNOWN.compare_exchange(NOTHING, NONE, Ordering::Relaxed, Ordering::Relaxed);
    }
    found.and_then(|client| client.as_client())
}

fn warn_once() {
    static TOLD: Once = Once::new();
    TOLD.call_once(|| {
        tracing::warn!(
            target: "reflect",
            "a traced function runs untraced, for there is no client: say `client = …` in \
             `#[reflect_trace]`, or make one everybody's with `ReflectClient::install`"
        );
    });
}

/// The client of a run; `None` where nothing would come of the run.
#[inline]
pub fn client<C: AsClient + ?Sized>(client: &C) -> Option<ReflectClient> {
    client.as_client()
}
