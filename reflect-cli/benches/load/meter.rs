//! The processors that a step uses.

use std::fmt;
use std::time::{Duration, Instant};

use crate::server::{self, Server};

/// Measures the processors that servers, the database and this program use.
pub(crate) struct Meter {
    begun: Instant,
    times: [Duration; 3],
}

impl Meter {
    pub(crate) fn start(servers: &[Server]) -> Self {
        Self {
            begun: Instant::now(),
            times: [
                servers.iter().map(Server::processor_time).sum(),
                server::database_processor_time(),
                server::own_processor_time(),
            ],
        }
    }

    pub(crate) fn used(&self, servers: &[Server]) -> Used {
        let wall = self.begun.elapsed().as_secs_f64();
        let now = Self::start(servers).times;
        let used = |part: usize| now[part].saturating_sub(self.times[part]).as_secs_f64() / wall;
        Used {
            servers: used(0),
            database: used(1),
            load: used(2),
        }
    }
}

/// The processors that were used, and by that what limits a step.
pub(crate) struct Used {
    pub(crate) servers: f64,
    database: f64,
    /// By this program, which sends the requests.
    pub(crate) load: f64,
}

impl Used {
    /// Whether hardly anything is left of the processors.
    pub(crate) fn is_all(&self) -> bool {
        let all = std::thread::available_parallelism().map_or(1, usize::from);
        let all = f64::from(u32::try_from(all).unwrap_or(u32::MAX));
        self.servers + self.database + self.load >= 0.85 * all
    }
}

impl fmt::Display for Used {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            servers, database, ..
        } = self;
        let limit = if !self.is_all() {
            "waits"
        } else if database > servers {
            "database"
        } else {
            "servers"
        };
        write!(f, "{limit} ({servers:.1} + {database:.1})")
    }
}
