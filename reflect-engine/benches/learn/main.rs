//! Does an agent that is given memories pass more often, and by which ranking?
//!
//! A simulated agent works on real task texts; the effect of each memory on it is known to the
//! simulation alone. The rankings of the engine run in the engine, with its store, learning and index.
//!
//! `cargo xtask bench learn`, or `cargo bench -p reflect-engine --bench learn -- --help`

#![expect(
    clippy::expect_used,
    clippy::cast_precision_loss,
    reason = "a benchmark of known sizes, which should stop immediately when it is wrong"
)]

mod choice;
mod informed;
mod life;
mod options;
mod policy;
mod random;
mod report;
mod tasks;
mod world;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use options::Options;
use policy::Kind;
use report::{Outcome, Report};
use tasks::TaskSet;
use world::{Condition, World};

fn main() {
    let options = Options::from_arguments();
    let sets: Vec<TaskSet> = options.sets();
    let conditions: Vec<Condition> = (0..sets.len()).flat_map(Condition::all).collect();
    let jobs: Vec<(usize, u64)> = (0..conditions.len())
        .flat_map(|condition| (0..options.seeds).map(move |seed| (condition, seed)))
        .collect();
    let (next, outcomes) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let begun = std::time::Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..options.threads {
            scope.spawn(|| {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_time()
                    .build()
                    .expect("a runtime");
                while let Some((condition, seed)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let of = &conditions[*condition];
                    let world = World::new(&sets[of.set], of, *seed);
                    let live = |kind: Kind| {
                        let lives = kind.lives(*seed);
                        lives.then(|| runtime.block_on(life::live(&world, kind)))
                    };
                    let rates = Kind::ALL.map(live);
                    let mut outcomes = outcomes.lock().expect("no panic");
                    outcomes.push(Outcome {
                        condition: *condition,
                        rates,
                    });
                    let done = outcomes.len();
                    if done.is_multiple_of(16) || done == jobs.len() {
                        eprint!("\r{done} of {} simulations", jobs.len());
                    }
                }
            });
        }
    });
    eprintln!();
    let outcomes = outcomes.into_inner().expect("no panic");
    let report = Report::new(&conditions, &sets, &outcomes);
    println!("{report}");
    println!(
        "{} seeds a condition, {} conditions, {:.0} s. Classic and known world: every fourth seed.",
        options.seeds,
        conditions.len(),
        begun.elapsed().as_secs_f64()
    );
}
