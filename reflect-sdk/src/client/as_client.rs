//! The client of a traced function.

use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::{Arc, LazyLock, Once, OnceLock};

use super::ReflectClient;
use crate::core::warn_once;

/// The value of `client =`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a client",
    label = "this is not a `ReflectClient`, nor a reference, an `Arc` or an `Option` of one",
    note = "the value of `client` is borrowed: write `client = self.client`"
)]
pub trait AsClient {
    /// The client, if there is one.
    fn as_client(&self) -> Option<ReflectClient>;
}

impl<M> AsClient for ReflectClient<M> {
    fn as_client(&self) -> Option<ReflectClient> {
        Some(ReflectClient {
            handle: Arc::clone(&self.handle),
            mode: PhantomData,
        })
    }
}

macro_rules! through {
    ($([$($generic:tt)*] $type:ty),* $(,)?) => {$(
        impl<$($generic)*> AsClient for $type {
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
    fn as_client(&self) -> Option<ReflectClient> {
        self.as_ref().and_then(T::as_client)
    }
}

impl<T: AsClient> AsClient for OnceLock<T> {
    fn as_client(&self) -> Option<ReflectClient> {
        self.get().and_then(T::as_client)
    }
}

/// The client of the caller: the one in [scope](ReflectClient::scope), else the
/// [installed](ReflectClient::install) one.
#[derive(Clone, Copy, Debug)]
pub struct Installed;

impl AsClient for Installed {
    fn as_client(&self) -> Option<ReflectClient> {
        static WARNED: Once = Once::new();

        let found = ReflectClient::scoped().or_else(ReflectClient::global);
        if found.is_none() {
            warn_once(
                &WARNED,
                "a traced function runs untraced because there is no client: set `client = …` in \
                 `#[reflect_trace]`, or install one with `ReflectClient::install`",
            );
        }
        found
    }
}

/// The client of a run; a disabled one if there is none.
pub fn client<C: AsClient + ?Sized>(client: &C) -> ReflectClient {
    static NONE: LazyLock<ReflectClient> = LazyLock::new(ReflectClient::disabled);

    client.as_client().unwrap_or_else(|| NONE.clone())
}
