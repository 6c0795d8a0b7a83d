//! A line of a table: requests for a while, how long they took, and what limits them.

use std::time::Duration;

use crate::meter::{Meter, Used};
use crate::rate;
use crate::requests::{self, Load, Taken};
use crate::server::Server;

pub(crate) async fn step(what: &str, load: Load, server: &Server, time: Duration) {
    let meter = Meter::start(std::slice::from_ref(server));
    let taken = requests::send(load, std::slice::from_ref(&server.address), time).await;
    let used = meter.used(std::slice::from_ref(server));
    show(what, &taken, time, &used);
}

pub(crate) fn show(what: &str, taken: &Taken, time: Duration, used: &Used) {
    println!(
        "{what:<30} {:>8.0}/s {:>9.2} ms p50 {:>9.2} ms p99   {}",
        rate(taken.count(), time),
        taken.at(50),
        taken.at(99),
        limit(used),
    );
}

/// The processors, if all were used, and how many the server and its clients took.
pub(crate) fn limit(used: &Used) -> String {
    let limit = if used.is_all() { "processors" } else { "waits" };
    format!(
        "{limit} (server {:.1}, clients {:.1})",
        used.servers, used.load
    )
}
