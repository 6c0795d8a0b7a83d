//! The client of a traced function.

use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, LazyLock, Once, OnceLock};

use super::{Async, ReflectClient};
use crate::core::warn_once;

/// The value of `client =`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a client",
    label = "this is not a `ReflectClient`, nor a reference, an `Arc` or an `Option` of one",
    note = "the value of `client` is borrowed: write `client = self.client`"
)]
pub trait AsClient {
    /// The client; `None` if there is none, or if it is disabled.
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
    // Outlined, to keep untraced calls small.
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

/// The client of the caller: the one in [scope](ReflectClient::scope), else the
/// [installed](ReflectClient::install) one.
#[derive(Clone, Copy, Debug)]
pub struct Installed;

/// Whether there may be a client, so that a program without one pays nothing.
static AVAILABLE: AtomicU8 = AtomicU8::new(UNKNOWN);

/// No client was looked for yet.
const UNKNOWN: u8 = 0;
/// There was no client, and the warning is given.
const NONE: u8 = 1;
/// A client was installed or put in scope.
const ANY: u8 = 2;

/// Makes traced functions look for a client.
pub(super) fn mark_client_available() {
    AVAILABLE.store(ANY, Ordering::Relaxed);
}

impl AsClient for Installed {
    #[inline]
    fn as_client(&self) -> Option<ReflectClient> {
        if AVAILABLE.load(Ordering::Relaxed) == NONE {
            return None;
        }
        find_client()
    }
}

#[cold]
#[inline(never)]
fn find_client() -> Option<ReflectClient> {
    let found = ReflectClient::scoped().or_else(ReflectClient::global);
    if found.is_none() {
        warn_once(&WARNED, NO_CLIENT);
        // Unless one was installed meanwhile.
        let _ = AVAILABLE.compare_exchange(UNKNOWN, NONE, Ordering::Relaxed, Ordering::Relaxed);
    }
    found.and_then(|client| client.as_client())
}

static WARNED: Once = Once::new();

const NO_CLIENT: &str = "a traced function runs untraced because there is no client: set `client = …` \
                         in `#[reflect_trace]`, or install one with `ReflectClient::install`";

/// The client of a run; `None` if the run is not traced.
#[inline]
pub fn client<C: AsClient + ?Sized>(client: &C) -> Option<ReflectClient> {
    client.as_client()
}
