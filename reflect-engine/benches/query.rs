//! The CPU time of a query: shortlist, fetch of the exact vectors, blend and MMR, against a
//! brute-force scan of all `f32` vectors. Every answer is compared with the exact ranking.
//!
//! `cargo bench -p reflect-engine --bench query`; with `-- --quick` 10,000 memories alone, held to a ratio.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::expect_used,
    reason = "a benchmark of known sizes, which should stop immediately when it is wrong"
)]

use std::hint::black_box;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use fearless_simd::{Level, Simd as _, dispatch};
use reflect_engine::index::{Index, Sought};
use reflect_engine::rank::{self, Candidate, Floor, Merit, Params, Ranked, Rule, rank};
use reflect_types::Metadata;
use rustix::time::{ClockId, clock_gettime};

const DIMS: usize = 384;
/// The most queries that the engine answers by one pass.
const TOGETHER: usize = 16;

/// How many times as fast as a scan of all vectors the defaults have to be, at 10,000 memories.
const LEAST_RATIO: f64 = 1.5;

fn main() -> ExitCode {
    let asked = |option: &str| std::env::args().any(|arg| arg == option);
    if asked("--quick") {
        let ratio = run(10_000, 300, 1.0);
        if ratio < LEAST_RATIO {
            println!("a query is {ratio:.1} times as fast as a scan; its budget is {LEAST_RATIO}");
            return ExitCode::FAILURE;
        }
    } else if asked("--bench") {
        run(10_000, 300, 1.0);
        run(100_000, 300, 5.0);
        run(100_000, 1, 5.0);
    } else {
        // Cargo passes `--bench` to a benchmark; without it this is a test run.
        run(2_000, 20, f64::INFINITY);
    }
    ExitCode::SUCCESS
}

/// Measures all cases; returns the ratio of the defaults to a scan.
fn run(count: usize, clusters: usize, goal_ms: f64) -> f64 {
    let mut random = Random(count as u64);
    let world = World::new(count, clusters, &mut random);
    let (index, building) = timed(|| world.index(false));
    println!(
        "\n{count} memories x {DIMS} dims in {clusters} clusters: index {} bytes a vector, built in {:.0} ms",
        index.bytes() / index.len(),
        ms(building)
    );
    println!(
        "{:<22} {:>17} {:>17} {:>7} {:>5} {:>10} {:>10}  goal {goal_ms} ms",
        "CPU ms a query", "ours (p95)", "f32 scan (p95)", "ratio", "pool", "read", "identical"
    );
    let usual = Params {
        rule: Rule::Classic { lambda: 0.5 },
        mmr_lambda: 0.7,
        floor: Floor::Set(0.2),
        limit: 10,
    };
    let similarity = Params {
        rule: Rule::Classic { lambda: 0.0 },
        ..usual
    };
    let utility = Params {
        rule: Rule::Classic { lambda: 0.9 },
        ..usual
    };
    let most = Params {
        limit: 100,
        ..usual
    };
    let plain = Params {
        floor: Floor::Set(-1.0),
        mmr_lambda: 1.0,
        ..usual
    };
    let suite: Metadata = [("suite".to_owned(), 7.into())].into_iter().collect();
    let cases = [
        ("defaults", usual, None),
        ("similarity alone", similarity, None),
        ("mostly utility", utility, None),
        ("limit 100", most, None),
        ("no floor, no variety", plain, None),
        ("filter that 1 % pass", usual, Some(&suite)),
    ];
    let index = world.index(true);
    let queries = (1_000_000 / count).clamp(40, 200);
    let mut ratio_of_defaults = 0.0;
    for (name, params, filter) in cases {
        let probes: Vec<_> = (0..queries).map(|_| world.probe(&mut random)).collect();
        let measured = measure(&world, &index, &params, filter, &probes);
        let ratio = measured.brute.0 / measured.ours.0;
        if name == "defaults" {
            ratio_of_defaults = ratio;
        }
        let goal = if measured.ours.0 <= goal_ms {
            "met"
        } else {
            "MISSED"
        };
        println!(
            "{name:<22} {:>8.3} ({:>6.3}) {:>8.3} ({:>6.3}) {:>6.1}x {:>5} {:>10.1} {:>6}/{queries:<3}  {goal}",
            measured.ours.0,
            measured.ours.1,
            measured.brute.0,
            measured.brute.1,
            ratio,
            params.pool(),
            measured.read,
            measured.identical,
        );
        assert_eq!(
            measured.identical, queries,
            "an answer is not the exact one"
        );
    }
    let probes: Vec<_> = (0..TOGETHER).map(|_| world.probe(&mut random)).collect();
    let queries = probes.iter().map(|probe| Sought {
        probe,
        params: usual,
        filter: None,
    });
    let queries: Vec<_> = queries.collect();
    let passes = (0..20).map(|_| ms(timed(|| black_box(index.shortlists(&queries))).1));
    let (median, p95) = median_and_p95(passes.collect());
    println!(
        "a pass for {TOGETHER} queries: {:.3} ({:.3}) each",
        median / TOGETHER as f64,
        p95 / TOGETHER as f64
    );
    ratio_of_defaults
}

struct Measured {
    ours: (f64, f64),
    brute: (f64, f64),
    read: f64,
    identical: usize,
}

/// Measures each method in its own loop, so that none fills the caches for another.
fn measure(
    world: &World,
    index: &Index,
    params: &Params,
    filter: Option<&Metadata>,
    probes: &[Vec<f32>],
) -> Measured {
    let (mut ours, mut brute) = (Vec::new(), Vec::new());
    let mut read = 0;
    let mut answers = Vec::new();
    for probe in probes {
        let ((length, answer), time) = timed(|| world.ours(index, probe, params, filter));
        ours.push(ms(time));
        read += length;
        answers.push(answer);
    }
    for probe in probes {
        let (_, time) = timed(|| black_box(world.f32_scan(probe, params, filter)));
        brute.push(ms(time));
    }
    let asked = probes.iter().zip(&answers);
    let identical = asked.filter(|(probe, answer)| **answer == world.exact(probe, params, filter));
    Measured {
        identical: identical.count(),
        ours: median_and_p95(ours),
        brute: median_and_p95(brute),
        read: read as f64 / probes.len() as f64,
    }
}

/// Memories clustered around centres, like tasks of the same kind.
struct World {
    centres: Vec<Vec<f32>>,
    /// Unit vectors, consecutive as in a file.
    vectors: Vec<f32>,
    q: Vec<f64>,
    metadata: Vec<Arc<Metadata>>,
}

impl World {
    fn new(count: usize, clusters: usize, random: &mut Random) -> Self {
        let centres: Vec<_> = (0..clusters).map(|_| random.direction()).collect();
        let suites: Vec<Arc<Metadata>> = (0..100)
            .map(|n| Arc::new([("suite".to_owned(), n.into())].into_iter().collect()))
            .collect();
        let mut world = Self {
            centres,
            vectors: Vec::with_capacity(count * DIMS),
            q: Vec::with_capacity(count),
            metadata: Vec::with_capacity(count),
        };
        for _ in 0..count {
            let vector = world.probe(random);
            world.vectors.extend(vector);
            world.q.push(learned_utility(random));
            world
                .metadata
                .push(suites[random.below(suites.len())].clone());
        }
        world
    }

    /// A vector near a centre: two of one cluster have a cosine of about 0.6 to 0.9.
    fn probe(&self, random: &mut Random) -> Vec<f32> {
        let spread = 0.3 + 0.5 * random.unit();
        let centre = &self.centres[random.below(self.centres.len())];
        let noise = random.direction();
        let mixed = centre.iter().zip(noise).map(|(c, n)| c + spread * n);
        normalised(mixed.collect())
    }

    fn index(&self, with_metadata: bool) -> Index {
        let mut index = Index::new(DIMS);
        for place in 0..self.q.len() {
            let none = Metadata::new();
            let metadata = if with_metadata {
                &self.metadata[place]
            } else {
                &none
            };
            index
                .upsert(place as i64, self.vector(place), self.q[place], metadata)
                .expect("vectors are finite");
        }
        index
    }

    fn vector(&self, place: usize) -> &[f32] {
        &self.vectors[place * DIMS..][..DIMS]
    }

    fn candidate<'a>(&'a self, place: usize, vector: &'a [f32]) -> Candidate<'a> {
        Candidate {
            key: place as i64,
            vector,
            merit: Merit::untested(self.q[place]),
            metadata: Some(&self.metadata[place]),
        }
    }

    /// The engine's method; the fetch copies the vectors, like a read from a file.
    fn ours(
        &self,
        index: &Index,
        probe: &[f32],
        params: &Params,
        filter: Option<&Metadata>,
    ) -> (usize, Vec<Ranked>) {
        let mut shortlist = index
            .shortlist(probe, params, filter)
            .expect("the probe is finite");
        let mut fetched = Vec::new();
        while let Some(keys) = shortlist.next_batch() {
            for key in keys {
                let vector = self.vector(key as usize).to_vec();
                shortlist.record(key, &vector);
                fetched.push((key as usize, vector));
            }
        }
        let candidates: Vec<_> = fetched.iter().map(|(p, v)| self.candidate(*p, v)).collect();
        (fetched.len(), rank(probe, &candidates, params))
    }

    /// The baseline: a plain `f32` dot product with every vector, the best of them ranked.
    fn f32_scan(&self, probe: &[f32], params: &Params, filter: Option<&Metadata>) -> Vec<Ranked> {
        let weight = match params.rule {
            Rule::Classic { lambda } => lambda as f32,
            Rule::Learned(_) => unreachable!("the benchmark ranks by the classic rule"),
        };
        let mut scores: Vec<_> = (0..self.q.len())
            .filter(|place| filter.is_none_or(|f| rank::matches(f, Some(&self.metadata[*place]))))
            .map(|place| (place, dot(probe, self.vector(place))))
            .filter(|(_, similarity)| f64::from(*similarity) >= params.floor.similarity())
            .map(|(place, sim)| (place, (1.0 - weight) * sim + weight * self.q[place] as f32))
            .collect();
        if params.pool() < scores.len() {
            scores.select_nth_unstable_by(params.pool(), |a, b| b.1.total_cmp(&a.1));
            scores.truncate(params.pool());
        }
        let best = scores
            .iter()
            .map(|(p, _)| self.candidate(*p, self.vector(*p)));
        rank(probe, &best.collect::<Vec<_>>(), params)
    }

    /// The expected answer.
    fn exact(&self, probe: &[f32], params: &Params, filter: Option<&Metadata>) -> Vec<Ranked> {
        let all: Vec<_> = (0..self.q.len())
            .filter(|place| filter.is_none_or(|f| rank::matches(f, Some(&self.metadata[*place]))))
            .map(|place| self.candidate(place, self.vector(place)))
            .collect();
        rank(probe, &all, params)
    }
}

/// A utility after a few reviews; most memories have none.
fn learned_utility(random: &mut Random) -> f64 {
    let mut q = 0.5;
    let reviews = random.below(10).saturating_sub(5);
    for _ in 0..reviews {
        let result = if random.below(3) > 0 { 1.0 } else { 0.0 };
        q += 0.3 * (result - q);
    }
    q
}

/// With the instructions that the index uses too.
fn dot(a: &[f32], b: &[f32]) -> f32 {
    dispatch!(Level::new(), simd => simd.vectorize(|| dot_of(a, b)))
}

#[expect(
    clippy::inline_always,
    reason = "only what is inlined is compiled for the instruction set"
)]
#[inline(always)]
fn dot_of(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0_f32; 16];
    for (a, b) in a.as_chunks::<16>().0.iter().zip(b.as_chunks::<16>().0) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a * b;
        }
    }
    sums.iter().sum()
}

fn normalised(mut vector: Vec<f32>) -> Vec<f32> {
    let norm = dot(&vector, &vector).sqrt();
    for x in &mut vector {
        *x /= norm;
    }
    vector
}

/// The result, and this thread's CPU time for it.
fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = cpu_time();
    let result = work();
    (result, cpu_time().saturating_sub(start))
}

fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn median_and_p95(mut times: Vec<f64>) -> (f64, f64) {
    times.sort_by(f64::total_cmp);
    (times[times.len() / 2], times[times.len() * 95 / 100])
}

/// `SplitMix64`: the same numbers in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// From 0 to 1.
    fn unit(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1_u32 << 24) as f32
    }

    /// A uniformly distributed direction, as a unit vector.
    fn direction(&mut self) -> Vec<f32> {
        let normal = |random: &mut Self| (0..12).map(|_| random.unit()).sum::<f32>() - 6.0;
        normalised((0..DIMS).map(|_| normal(self)).collect())
    }
}
