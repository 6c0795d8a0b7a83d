//! The plot of a query's cost by the number of memories.

use std::fmt::Write as _;
use std::path::Path;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 320.0;
const MARGIN: f64 = 48.0;
/// The decades of both axes: 1,000 to a million memories, 0.1 to 100 ms.
const MEMORIES: (f64, f64) = (3.0, 6.0);
const TIME: (f64, f64) = (-1.0, 2.0);

/// A line of the benchmark: a world, how many memories, and milliseconds of CPU time.
#[derive(Debug, PartialEq)]
struct Point<'a> {
    world: &'a str,
    memories: f64,
    time: f64,
}

/// Draws what the benchmark has printed.
pub(super) fn write(said: &str, path: &Path) -> std::io::Result<()> {
    std::fs::write(path, draw(&points(said)))
}

fn points(said: &str) -> Vec<Point<'_>> {
    let point = |line| {
        let mut words = str::split_whitespace(line);
        let (world, memories, time) = (words.next()?, words.next()?, words.next()?);
        Some(Point {
            world,
            memories: memories.parse().ok()?,
            time: time.parse().ok()?,
        })
    };
    said.lines().filter_map(point).collect()
}

fn draw(points: &[Point<'_>]) -> String {
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
         font-family=\"sans-serif\" font-size=\"12\"><title>CPU time of a query by the number of memories, \
         both axes logarithmic</title><rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\"/>\n"
    );
    let line = |svg: &mut String, x1, y1, x2, y2| {
        let _ = writeln!(
            svg,
            "<path d=\"M{x1:.1} {y1:.1}L{x2:.1} {y2:.1}\" stroke=\"#ddd\"/>"
        );
    };
    let text = |svg: &mut String, x, y, anchor, text: &str, colour| {
        let _ = writeln!(
            svg,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"{colour}\">{text}</text>"
        );
    };
    for (memories, label) in [
        (1e3, "1,000"),
        (1e4, "10,000"),
        (1e5, "100,000"),
        (1e6, "1,000,000 memories"),
    ] {
        let at = x(memories);
        line(&mut svg, at, MARGIN / 2.0, at, HEIGHT - MARGIN);
        text(
            &mut svg,
            at,
            HEIGHT - MARGIN + 20.0,
            if memories < 1e6 { "middle" } else { "end" },
            label,
            "#555",
        );
    }
    for (time, label) in [
        (0.1, "0.1 ms"),
        (1.0, "1 ms"),
        (10.0, "10 ms"),
        (100.0, "100 ms"),
    ] {
        let at = y(time);
        line(&mut svg, MARGIN, at, WIDTH - MARGIN, at);
        text(&mut svg, MARGIN - 6.0, at + 4.0, "end", label, "#555");
    }
    let mut worlds: Vec<&str> = points.iter().map(|point| point.world).collect();
    worlds.dedup();
    for (world, colour) in worlds.into_iter().zip(["#3b5bdb", "#2b8a3e", "#c92a2a"]) {
        let path: Vec<String> = points
            .iter()
            .filter(|point| point.world == world)
            .map(|point| format!("{:.1} {:.1}", x(point.memories), y(point.time)))
            .collect();
        let _ = writeln!(
            svg,
            "<path d=\"M{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
            path.join("L")
        );
        if let Some(last) = points.iter().rfind(|point| point.world == world) {
            text(
                &mut svg,
                x(last.memories) + 6.0,
                y(last.time) + 4.0,
                "start",
                world,
                colour,
            );
        }
    }
    svg + "</svg>\n"
}

fn x(memories: f64) -> f64 {
    let (from, to) = MEMORIES;
    MARGIN + (memories.log10() - from) / (to - from) * (WIDTH - 2.0 * MARGIN)
}

fn y(time: f64) -> f64 {
    let (from, to) = TIME;
    let share = (time.max(0.1).log10() - from) / (to - from);
    HEIGHT - MARGIN - share * (HEIGHT - 1.5 * MARGIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_of_the_benchmark_becomes_a_plot() {
        let said = "world memories learned, ms\ntasks 1000 0.7 0.8\ntasks 10000 1.8 2.7\nrandom 1000 0.2 0.8\n";
        let found = points(said);
        assert_eq!(found.len(), 3);
        assert_eq!(found[0].world, "tasks");
        let svg = draw(&found);
        assert_eq!(svg.matches("stroke-width").count(), 2);
        assert!(svg.contains(">random<"), "{svg}");
    }
}
