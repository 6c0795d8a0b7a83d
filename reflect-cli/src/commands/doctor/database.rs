//! The checks of a PostgreSQL database.

use std::time::Duration;

use jiff::SignedDuration;
use reflect_engine::store::Examination;

use super::findings::Findings;
use crate::data::{Connections, Opened};
use crate::file::File;
use crate::output;

/// Checks the database, if it is one.
pub(super) async fn check(
    file: &File,
    connections: Connections,
    findings: &mut Findings,
) -> reflect_engine::Result<()> {
    let Opened::Postgres(store) = &file.opened else {
        return Ok(());
    };
    match store.examine().await {
        Ok(found) => report(&found, connections, findings),
        Err(error) => findings.bad(
            format!("the database cannot be examined: {error}"),
            "grant this user the right to read pg_stat_database and pg_stat_replication",
        ),
    }
    for queue in file.engine.gauges().await?.queues {
        let jobs = output::counted(queue.jobs, &format!("{} job", queue.kind.as_str()));
        let waits = queue.delay.as_secs();
        if waits > 60 {
            findings.warn(
                format!("the first of {jobs} waits for {waits} s"),
                "start a server, or more of them, or raise --workers",
            );
        } else {
            findings.good(format!("{jobs} in the queue"));
        }
    }
    Ok(())
}

fn report(found: &Examination, connections: Connections, findings: &mut Findings) {
    let Examination {
        version, pgvector, ..
    } = found;
    findings.good(format!("PostgreSQL {version} with pgvector {pgvector}"));
    let (used, most) = (found.connections, found.max_connections);
    let what = format!("{used} of {most} connections are in use");
    let pool = i64::try_from(connections.get()).unwrap_or(i64::MAX);
    if most - used < pool {
        findings.warn(
            what,
            &format!(
                "raise max_connections, or lower --database-connections of the servers: each opens up \
                 to {pool}"
            ),
        );
    } else {
        findings.good(what);
    }
    for index in &found.invalid_indexes {
        findings.warn(
            format!("the index {index} is not valid, and not used"),
            &format!("run `REINDEX INDEX CONCURRENTLY {index}`"),
        );
    }
    if found.invalid_indexes.is_empty() {
        findings.good("all indexes are valid");
    }
    let clock = found.clock_difference;
    let what = format!("the clocks differ by {} ms", clock.as_millis().abs());
    if clock.abs() > SignedDuration::from_secs(5) {
        let fix = "set both clocks by NTP: times of traces and keys are of the servers";
        findings.warn(what, fix);
    } else {
        findings.good(what);
    }
    let what = format!(
        "a round trip takes {:.1} ms",
        found.round_trip.as_secs_f64() * 1e3
    );
    if found.round_trip > Duration::from_millis(20) {
        findings.warn(what, "run the servers near the database");
    } else {
        findings.good(what);
    }
    for (replica, behind) in &found.replicas {
        let what = format!("the replica `{replica}` is {behind:.1} s behind");
        if *behind > 10.0 {
            findings.warn(what, "check its disk, network and long queries");
        } else {
            findings.good(what);
        }
    }
}
