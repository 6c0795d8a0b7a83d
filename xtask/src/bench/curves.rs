//! The curves in what benchmarks print.

use super::plot::{Curve, Plot};

/// Lines of a world, a number of memories, and milliseconds.
pub(super) fn by_memories(said: &str) -> Vec<Plot> {
    let mut curves: Vec<Curve> = Vec::new();
    for line in said.lines() {
        let words: Vec<_> = line.split_whitespace().collect();
        let [world, memories, time, ..] = words[..] else {
            continue;
        };
        let (Ok(memories), Ok(time)) = (memories.parse(), time.parse()) else {
            continue;
        };
        match curves.iter_mut().find(|curve| curve.name == world) {
            Some(curve) => curve.points.push([memories, time]),
            None => curves.push(Curve {
                name: world.to_owned(),
                points: vec![[memories, time]],
            }),
        }
    }
    visible([Plot {
        file: "growth.svg",
        title: "CPU time of a query by the number of memories",
        units: ["", " ms"],
        curves,
    }])
}

/// Lines of a number of clients or kilobytes, and requests a second.
pub(super) fn by_clients_and_size(said: &str) -> Vec<Plot> {
    let clients = Plot {
        file: "clients.svg",
        title: "Traces stored a second by the number of clients",
        units: ["", "/s"],
        curves: rates(said, "clients"),
    };
    let sizes = Plot {
        file: "sizes.svg",
        title: "Traces stored a second by their size",
        units: [" kB", "/s"],
        curves: rates(said, "kB"),
    };
    visible([clients, sizes])
}

fn rates(said: &str, unit: &str) -> Vec<Curve> {
    let point = |line: &str| {
        let words: Vec<_> = line.split_whitespace().collect();
        let [count, named, rate, ..] = words[..] else {
            return None;
        };
        let rate = rate.strip_suffix("/s").filter(|_| named == unit)?;
        Some([count.parse().ok()?, rate.parse().ok()?])
    };
    vec![Curve {
        name: "traces".to_owned(),
        points: said.lines().filter_map(point).collect(),
    }]
}

/// The plots that have anything to see. A logarithmic axis has no place for 0.
fn visible<const N: usize>(mut plots: [Plot; N]) -> Vec<Plot> {
    for curve in plots.iter_mut().flat_map(|plot| &mut plot.curves) {
        curve
            .points
            .retain(|point| point.iter().all(|value| *value > 0.0));
    }
    let has_points = |plot: &Plot| plot.curves.iter().any(|curve| !curve.points.is_empty());
    plots.into_iter().filter(has_points).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_world_is_a_curve() {
        let said = "world memories learned, ms\ntasks 1000 0.7 0.8\nrandom 1000 0.2 0.8\ntasks 10000 1.8 2.7\n";
        let plots = by_memories(said);
        let [tasks, random] = &plots[0].curves[..] else {
            panic!("two curves");
        };
        assert_eq!(tasks.points, [[1_000.0, 0.7], [10_000.0, 1.8]]);
        assert_eq!(random.name, "random");
    }

    #[test]
    fn clients_and_sizes_are_told_apart() {
        let said = "Clients that store\n1 clients  302/s  0.5 ms p50\n16 kB  1178/s  2 ms p50\n128 kB  263/s\n";
        let plots = by_clients_and_size(said);
        assert_eq!(plots[0].curves[0].points, [[1.0, 302.0]]);
        assert_eq!(plots[1].curves[0].points, [[16.0, 1_178.0], [128.0, 263.0]]);
    }

    #[test]
    fn nothing_is_drawn_of_nothing() {
        assert!(by_memories("skipped: no memory\n").is_empty());
    }
}
