//! The open connections: how many there are, in all and per address, and which of them are idle.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ipnet::IpNet;
use tokio::sync::Notify;

use crate::client_address::network;

/// The limits of a [`ConnectionTable`].
#[derive(Clone, Debug)]
pub(crate) struct ConnectionLimits {
    /// Maximum connections in all.
    pub(crate) total: usize,
    /// Maximum connections of an IPv4 address or IPv6 /64.
    pub(crate) per_address: usize,
    /// Networks without a limit per address: their connections are those of many clients.
    pub(crate) exempt: Vec<IpNet>,
}

/// The open connections. A connection over a limit replaces the one that has been idle longest, and is
/// refused if none is idle.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionTable {
    limits: Arc<ConnectionLimits>,
    open: Arc<Mutex<Open>>,
}

#[derive(Debug, Default)]
struct Open {
    connections: BTreeMap<u64, Connection>,
    per_address: HashMap<IpAddr, usize>,
    /// Numbers connections and idle periods in their order.
    next: u64,
}

#[derive(Debug)]
struct Connection {
    /// `None` without a limit per address.
    address: Option<IpAddr>,
    /// When its idle period began; `None` during a request.
    idle_since: Option<u64>,
    evicted: Arc<Notify>,
}

/// A place in the table, until dropped.
#[derive(Debug)]
pub(crate) struct ConnectionPlace {
    number: u64,
    table: ConnectionTable,
    evicted: Arc<Notify>,
    first_request: Notify,
}

/// A request in progress, which keeps its connection from being idle.
#[derive(Debug)]
pub(crate) struct RequestInProgress {
    place: Arc<ConnectionPlace>,
}

/// A time during a request in which its connection is idle.
#[derive(Debug)]
pub(crate) struct IdleTime {
    place: Arc<ConnectionPlace>,
}

impl ConnectionTable {
    pub(crate) fn new(limits: ConnectionLimits) -> Self {
        Self {
            limits: Arc::new(limits),
            open: Arc::default(),
        }
    }

    /// Adds a connection; `None` if it is over a limit and none is idle.
    pub(crate) fn add(&self, peer: IpAddr) -> Option<Arc<ConnectionPlace>> {
        let peer = peer.to_canonical();
        let is_exempt = self.limits.exempt.iter().any(|net| net.contains(&peer));
        let address = (!is_exempt).then(|| network(peer));
        let mut open = self.lock();
        if address.is_some_and(|address| open.count(address) >= self.limits.per_address) {
            open.evict_oldest(|connection| connection.address == address)?;
        }
        if open.connections.len() >= self.limits.total {
            open.evict_oldest(|_| true)?;
        }
        let number = open.next();
        let evicted = Arc::new(Notify::new());
        let connection = Connection {
            address,
            idle_since: Some(number),
            evicted: Arc::clone(&evicted),
        };
        open.connections.insert(number, connection);
        if let Some(address) = address {
            *open.per_address.entry(address).or_default() += 1;
        }
        Some(Arc::new(ConnectionPlace {
            number,
            table: self.clone(),
            evicted,
            first_request: Notify::new(),
        }))
    }

    /// Closes the connection that has been idle longest. Returns whether there was one.
    pub(crate) fn evict_oldest(&self) -> bool {
        self.lock().evict_oldest(|_| true).is_some()
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    fn next(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn count(&self, address: IpAddr) -> usize {
        self.per_address.get(&address).copied().unwrap_or_default()
    }

    fn evict_oldest(&mut self, among: impl Fn(&Connection) -> bool) -> Option<()> {
        let candidates = self.connections.iter();
        let candidates = candidates.filter(|(_, connection)| among(connection));
        let idle = candidates.filter_map(|(number, one)| Some((one.idle_since?, *number)));
        let (_, number) = idle.min()?;
        self.remove(number)?.evicted.notify_one();
        Some(())
    }

    fn remove(&mut self, number: u64) -> Option<Connection> {
        let removed = self.connections.remove(&number)?;
        if let Some(address) = removed.address
            && let Some(count) = self.per_address.get_mut(&address)
        {
            *count -= 1;
            if *count == 0 {
                self.per_address.remove(&address);
            }
        }
        Some(removed)
    }
}

impl ConnectionPlace {
    /// Marks the connection as busy.
    pub(crate) fn begin(self: &Arc<Self>) -> RequestInProgress {
        self.set_idle(false);
        self.first_request.notify_one();
        RequestInProgress {
            place: Arc::clone(self),
        }
    }

    /// Marks the connection as idle during a request, so that it can be evicted, until dropped.
    pub(crate) fn idle(self: &Arc<Self>) -> IdleTime {
        self.set_idle(true);
        IdleTime {
            place: Arc::clone(self),
        }
    }

    /// Resolves when another connection takes this place.
    pub(crate) async fn evicted(&self) {
        self.evicted.notified().await;
    }

    /// Resolves when the first request has begun.
    pub(crate) async fn first_request(&self) {
        self.first_request.notified().await;
    }

    fn set_idle(&self, is_idle: bool) {
        let mut open = self.table.lock();
        let now = open.next();
        if let Some(connection) = open.connections.get_mut(&self.number) {
            connection.idle_since = is_idle.then_some(now);
        }
    }
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        self.table.lock().remove(self.number);
    }
}

impl Drop for RequestInProgress {
    fn drop(&mut self) {
        self.place.set_idle(true);
    }
}

impl Drop for IdleTime {
    fn drop(&mut self) {
        self.place.set_idle(false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(total: usize, per_address: usize) -> ConnectionTable {
        ConnectionTable::new(ConnectionLimits {
            total,
            per_address,
            exempt: vec!["10.0.0.0/8".parse().unwrap()],
        })
    }

    fn address(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    fn is_evicted(place: &ConnectionPlace) -> bool {
        !place.table.lock().connections.contains_key(&place.number)
    }

    #[test]
    fn oldest_idle_connection_gives_way() {
        let table = table(3, 3);
        let [first, second, third] = [1, 2, 3].map(|last| table.add(address(last)).unwrap());
        // The first has a request, and is idle for a shorter time than the third afterwards.
        drop(first.begin());
        let busy = second.begin();
        let fourth = table.add(address(4)).unwrap();
        assert!(is_evicted(&third) && !is_evicted(&first) && !is_evicted(&second));
        let _fifth = table.add(address(5)).unwrap();
        assert!(is_evicted(&first) && !is_evicted(&fourth));
        drop(busy);
    }

    #[test]
    fn busy_connections_are_kept_and_new_ones_refused() {
        let table = table(2, 2);
        let places = [1, 2].map(|last| table.add(address(last)).unwrap());
        let busy = places.each_ref().map(ConnectionPlace::begin);
        assert!(table.add(address(3)).is_none());
        assert!(!table.evict_oldest());
        drop(busy);
        assert!(table.add(address(3)).is_some());
    }

    #[test]
    fn address_over_its_limit_replaces_its_own_idle_connection() {
        let table = table(10, 2);
        let other = table.add(address(9)).unwrap();
        let [first, second] = [0, 1].map(|_| table.add(address(1)).unwrap());
        let third = table.add(address(1)).unwrap();
        assert!(is_evicted(&first) && !is_evicted(&second) && !is_evicted(&other));
        let busy = [second.begin(), third.begin()];
        assert!(table.add(address(1)).is_none());
        assert!(table.add(address(2)).is_some());
        drop((busy, first, second, third));
        assert_eq!(table.lock().count(address(1)), 0);
    }

    #[test]
    fn trusted_proxies_have_no_limit_per_address() {
        let table = table(10, 1);
        let proxy = IpAddr::from([10, 0, 0, 1]);
        let places = [0, 1, 2].map(|_| table.add(proxy).unwrap());
        assert!(places.iter().all(|place| !is_evicted(place)));
    }

    #[test]
    fn addresses_of_one_ipv6_network_share_a_limit() {
        let table = table(10, 1);
        let first = table.add("2001:db8::1".parse().unwrap()).unwrap();
        let _second = table.add("2001:db8::2".parse().unwrap()).unwrap();
        assert!(is_evicted(&first));
        let _third = table.add("2001:db8:0:1::1".parse().unwrap()).unwrap();
        assert_eq!(table.lock().connections.len(), 2);
    }
}
