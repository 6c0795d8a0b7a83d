//! One behaviour, every transport: each test is written once and runs on all of them.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on should panic"
)]

mod administration;
mod attribute;
mod by_key;
mod control;
mod embedded;
mod failing;
mod frameworks;
mod learning;
mod managed;
mod nested;
mod outcomes;
mod recording;
mod reflexion;
mod review_run;
mod reviewers;
mod runs;
mod streams;
mod upkeep;
mod world;

/// Declares the behaviours of a module; each becomes one test per transport, and one with a server on
/// PostgreSQL, which `cargo xtask test postgres` runs. Their argument is a world, unless the declaration
/// starts with one argument per transport.
macro_rules! on_every_transport {
    ($($behaviour:ident),+ $(,)?) => {
        $crate::on_every_transport!(
            &World::embedded(), &World::http(), &World::postgres() => $($behaviour,)+
        );
    };
    ($embedded:expr, $http:expr, $postgres:expr => $($behaviour:ident),+ $(,)?) => {
        mod embedded {
            use super::World;

            $(#[test] fn $behaviour() { super::$behaviour($embedded); })+
        }

        mod http {
            use super::World;

            $(#[test] fn $behaviour() { super::$behaviour($http); })+
        }

        mod postgres {
            use super::World;

            $(
                #[test]
                #[ignore = "needs PostgreSQL: cargo xtask test postgres"]
                fn $behaviour() { super::$behaviour($postgres); }
            )+
        }
    };
}

pub(crate) use on_every_transport;
