//! The transactions of the methods of a store.

/// Runs work in a transaction of a store, and again if it meets another one.
macro_rules! transaction {
    ($store:expr, $begin:ident, |$db:ident| $work:expr) => {{
        let mut attempt = 1;
        loop {
            let done = async {
                let mut connection = $store.connection().await?;
                let transaction = $crate::store::Postgres::$begin(&mut connection).await?;
                let $db = &transaction;
                let answer = $work.await?;
                transaction.commit().await?;
                Ok::<_, $crate::store::postgres::fault::Fault>(answer)
            };
            match done.await {
                Ok(answer) => break Ok(answer),
                Err(fault) if $store.may_repeat(&fault, attempt) => attempt += 1,
                Err(fault) => break Err($store.error(fault)),
            }
        }
    }};
}

/// Runs work that reads by one statement, without the round trips of a transaction.
macro_rules! look {
    ($store:expr, |$db:ident| $work:expr) => {
        $crate::store::postgres::transaction::transaction!($store, begin_looking, |$db| $work)
    };
}

/// Runs work that reads, on one snapshot.
macro_rules! read {
    ($store:expr, |$db:ident| $work:expr) => {
        $crate::store::postgres::transaction::transaction!($store, begin_reading, |$db| $work)
    };
}

/// Runs work that writes.
macro_rules! write {
    ($store:expr, |$db:ident| $work:expr) => {
        $crate::store::postgres::transaction::transaction!($store, begin_writing, |$db| $work)
    };
}

pub(super) use {look, read, transaction, write};
