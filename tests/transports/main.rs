//! One behaviour, every transport: each test is written once and runs on all of them.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on should panic"
)]

mod administration;
mod attribute;
mod control;
mod embedded;
mod failing;
mod learning;
mod managed;
mod recording;
mod reflexion;
mod reviewers;
mod runs;
mod upkeep;
mod world;

/// Declares the behaviours of a module; each becomes one test per transport. Their argument is a
/// world, unless the declaration starts with one argument per transport.
macro_rules! on_every_transport {
    ($($behaviour:ident),+ $(,)?) => {
        $crate::on_every_transport!(&World::embedded(), &World::http() => $($behaviour,)+);
    };
    ($embedded:expr, $http:expr => $($behaviour:ident),+ $(,)?) => {
        mod embedded {
            use super::World;

            $(#[test] fn $behaviour() { super::$behaviour($embedded); })+
        }

        mod http {
            use super::World;

            $(#[test] fn $behaviour() { super::$behaviour($http); })+
        }
    };
}

pub(crate) use on_every_transport;
