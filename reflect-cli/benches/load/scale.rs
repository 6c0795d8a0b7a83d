//! SQLite beside PostgreSQL with one, two and three servers.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use reflect_engine::store::scratch_database;

use crate::fill::fill;
use crate::learning::learn;
use crate::meter::{Meter, Used};
use crate::requests::{self, Load};
use crate::server::Server;
use crate::tasks::{query, trace};
use crate::{CONNECTIONS, rate};

/// The memories that are queried on all arrangements.
const MEMORIES: usize = 10_000;
/// The memories of a large project.
const MANY_MEMORIES: usize = 100_000;

/// A number that was measured, and what it took.
struct Measured {
    value: f64,
    used: Used,
}

/// What one arrangement does.
struct Arrangement {
    name: String,
    /// Durable traces a second.
    ingest: Measured,
    /// Reviewed traces a second that were stored and learned from.
    learned: Measured,
    /// Queries a second of many connections.
    queries: Measured,
    /// The median of queries one by one, in milliseconds.
    query: Measured,
}

pub(crate) async fn run(time: Duration) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("reflect.db");
    let mut arrangements = vec![measure("SQLite", &[Server::start(&file, &[])], None, time).await];
    let mut address = String::new();
    for count in 1..=3 {
        address = scratch_database("scale").await;
        let servers: Vec<Server> = (0..count).map(|_| Server::start(&address, &[])).collect();
        let name = match count {
            1 => "PostgreSQL, 1 server".to_owned(),
            _ => format!("PostgreSQL, {count} servers"),
        };
        arrangements.push(measure(&name, &servers, Some(&address), time).await);
    }
    fill(&address, MANY_MEMORIES).await;
    let servers = [Server::start(&address, &[])];
    let many = queries(&servers, 1, time).await;
    drop(servers);
    let table = table(&arrangements, &many, time);
    println!("{table}");
    keep(&table);
}

fn table(arrangements: &[Arrangement], many: &Measured, time: Duration) -> String {
    let mut table = format!(
        "| | traces/s | limit | learned reviews/s | limit | queries/s | limit | query, ms | limit |\n{}|\n",
        "|---".repeat(9)
    );
    for arrangement in arrangements {
        let _ = write!(table, "| {} |", arrangement.name);
        let Arrangement {
            ingest,
            learned,
            queries,
            query,
            ..
        } = arrangement;
        for (Measured { value, used }, digits) in
            [(ingest, 0), (learned, 0), (queries, 0), (query, 2)]
        {
            let _ = write!(table, " {value:.digits$} | {used} |");
        }
        table.push('\n');
    }
    let sqlite = &arrangements[0].query.value;
    let _ = write!(
        table,
        "\nMeasured on {} at commit {}. A query one by one at {MEMORIES} memories takes {:.2} times as long on PostgreSQL as on SQLite. At \
         {MANY_MEMORIES} memories, it takes {:.1} ms ({}). {CONNECTIONS} connections, {} s a step, {} \
         processors.\n",
        said("date", &["-u", "+%F"]),
        said("git", &["rev-parse", "--short", "HEAD"]),
        arrangements[1].query.value / sqlite,
        many.value,
        many.used,
        time.as_secs(),
        std::thread::available_parallelism().map_or(0, usize::from),
    );
    table
}

/// The first line that a program prints.
fn said(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let said = output.map_or_else(|_| Vec::new(), |output| output.stdout);
    let said = String::from_utf8_lossy(&said);
    said.lines().next().unwrap_or("unknown").to_owned()
}

/// Writes the table into its page.
fn keep(table: &str) {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/design/serving.md");
    let text = std::fs::read_to_string(&page).unwrap();
    let (before, rest) = text.split_once("<!-- table -->\n").unwrap();
    let (_, after) = rest.split_once("<!-- end -->\n").unwrap();
    let new = format!("{before}<!-- table -->\n{table}<!-- end -->\n{after}");
    std::fs::write(page, new).unwrap();
}

/// Measures servers on a file, or on a database at this address.
async fn measure(
    name: &str,
    servers: &[Server],
    database: Option<&str>,
    time: Duration,
) -> Arrangement {
    let addresses = addresses(servers);
    let meter = Meter::start(servers);
    let load = Load::new("/traces", trace, CONNECTIONS);
    let stored = requests::send(load, &addresses, time).await;
    let ingest = Measured {
        value: rate(stored.count(), time),
        used: meter.used(servers),
    };
    eprintln!("{name}: {:.0} traces/s", ingest.value);

    let meter = Meter::start(servers);
    let (mut count, start) = (0, Instant::now());
    // On a file, until there are enough memories to query.
    while count == 0 || (database.is_none() && count < MEMORIES) {
        count += learn(&addresses, count..MEMORIES, time).await;
    }
    let learned = Measured {
        value: rate(count, start.elapsed()),
        used: meter.used(servers),
    };
    eprintln!("{name}: {:.0} learned/s", learned.value);

    if let Some(address) = database
        && count < MEMORIES
    {
        fill(address, MEMORIES).await;
    }
    let many = queries(servers, CONNECTIONS, time).await;
    let query = queries(servers, 1, time).await;
    eprintln!("{name}: {:.0} queries/s, {:.2} ms", many.value, query.value);
    Arrangement {
        name: name.to_owned(),
        ingest,
        learned,
        queries: many,
        query,
    }
}

/// Queries a second of many connections, or the median in milliseconds of one.
async fn queries(servers: &[Server], connections: usize, time: Duration) -> Measured {
    let addresses = addresses(servers);
    let load = |connections| Load::new("/memory/query", query, connections);
    // The first query of each server loads the index.
    requests::send(load(addresses.len()), &addresses, Duration::ZERO).await;
    let meter = Meter::start(servers);
    let taken = requests::send(load(connections), &addresses, time).await;
    let value = match connections {
        1 => taken.at(50),
        _ => rate(taken.count(), time),
    };
    Measured {
        value,
        used: meter.used(servers),
    }
}

fn addresses(servers: &[Server]) -> Vec<String> {
    let addresses = servers.iter().map(|server| server.address.clone());
    addresses.collect()
}
