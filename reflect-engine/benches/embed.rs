//! The time per text of each bundled embedder: `cargo bench -p reflect-engine --bench embed`.

use std::hint::black_box;
use std::time::{Duration, Instant};

use reflect_engine::model::{Error, HashedEmbedder, StaticEmbedder};

const TEXTS: [&str; 6] = [
    "Book a flight from New York to Seattle on May 20th, economy class.",
    "Cancel my order and refund the money to my credit card.",
    "Delete all .log files older than 30 days in /var/log",
    "List customers with more than one order, sorted by total amount",
    "cargo test fails with error[E0382]: borrow of moved value",
    "How do I reset my password?",
];

fn main() -> Result<(), Error> {
    let start = Instant::now();
    black_box(StaticEmbedder.vector(TEXTS[0])?);
    println!(
        "static, first text (reads the table): {:>8.2?}",
        start.elapsed()
    );

    let table = per_text(|text| StaticEmbedder.vector(text).map_or(0.0, |vector| vector[0]));
    let hashed = per_text(|text| HashedEmbedder.vector(text)[0]);
    println!("static, a text:                       {table:>8.2?}");
    println!("hashed, a text:                       {hashed:>8.2?}");
    println!(
        "ratio static / hashed:                {:>8.2}",
        table.as_secs_f64() / hashed.as_secs_f64()
    );
    Ok(())
}

/// The best of several rounds, which a busy machine disturbs least.
fn per_text(embed: impl Fn(&str) -> f32) -> Duration {
    const ROUNDS: u32 = 7;
    const REPEATS: u32 = 2_000;
    let round = || {
        let start = Instant::now();
        for _ in 0..REPEATS {
            for text in TEXTS {
                black_box(embed(black_box(text)));
            }
        }
        start.elapsed() / (REPEATS * 6)
    };
    (0..ROUNDS).map(|_| round()).min().unwrap_or_default()
}
