//! Plots as SVG. Both axes are logarithmic, and have the decades that the curves need.

use std::fmt::Write as _;
use std::ops::RangeInclusive;
use std::path::Path;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 320.0;
const MARGIN: f64 = 60.0;
const COLOURS: [&str; 3] = ["#3b5bdb", "#2b8a3e", "#c92a2a"];

pub(super) struct Plot {
    pub(super) file: &'static str,
    pub(super) title: &'static str,
    /// What stands after the numbers, from left to right and from bottom to top.
    pub(super) units: [&'static str; 2],
    pub(super) curves: Vec<Curve>,
}

#[derive(Debug, PartialEq)]
pub(super) struct Curve {
    pub(super) name: String,
    pub(super) points: Vec<[f64; 2]>,
}

impl Plot {
    pub(super) fn write(&self, folder: &Path) -> std::io::Result<()> {
        std::fs::write(folder.join(self.file), self.svg())
    }

    fn svg(&self) -> String {
        let title = self.title;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
             font-family=\"sans-serif\" font-size=\"12\"><title>{title}, both axes logarithmic</title>\
             <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\"/>\n"
        );
        let values = |which: usize| {
            let points = self.curves.iter().flat_map(|curve| &curve.points);
            points.map(move |point| point[which])
        };
        let (left, bottom) = (MARGIN, HEIGHT - MARGIN / 2.0);
        let (right, top) = (WIDTH - MARGIN, MARGIN / 2.0);
        text(&mut svg, [left, 18.0], "start", title, "#000");
        let across = Axis::of(values(0), left, right);
        let up = Axis::of(values(1), bottom, top);
        for (mark, x) in across.marks() {
            line(&mut svg, &[[x, top], [x, bottom]], "#ddd", 1);
            let (mark, y) = (written(mark) + self.units[0], bottom + 18.0);
            text(&mut svg, [x, y], "middle", &mark, "#555");
        }
        for (mark, y) in up.marks() {
            line(&mut svg, &[[left, y], [right, y]], "#ddd", 1);
            let (mark, at) = (written(mark) + self.units[1], [left - 6.0, y + 4.0]);
            text(&mut svg, at, "end", &mark, "#555");
        }
        // Names stand above, because the ends of curves may meet.
        let mut end = right;
        for (curve, colour) in self.curves.iter().zip(COLOURS) {
            let places = curve.points.iter().map(|&[x, y]| [across.at(x), up.at(y)]);
            line(&mut svg, &places.collect::<Vec<_>>(), colour, 2);
            text(&mut svg, [end, 18.0], "end", &curve.name, colour);
            end -= 70.0;
        }
        svg + "</svg>\n"
    }
}

/// From one power of ten to another, between two places.
struct Axis {
    powers: RangeInclusive<i32>,
    start: f64,
    end: f64,
}

impl Axis {
    #[expect(clippy::cast_possible_truncation, reason = "powers of ten are small")]
    fn of(values: impl Iterator<Item = f64> + Clone, start: f64, end: f64) -> Self {
        let least = values.clone().fold(f64::INFINITY, f64::min).log10().floor() as i32;
        let most = values.fold(0.0, f64::max).log10().ceil() as i32;
        Self {
            // One power has no length.
            powers: least..=most.max(least + 1),
            start,
            end,
        }
    }

    fn at(&self, value: f64) -> f64 {
        let (from, to) = (
            f64::from(*self.powers.start()),
            f64::from(*self.powers.end()),
        );
        self.start + (value.log10() - from) / (to - from) * (self.end - self.start)
    }

    /// Powers of ten, and where they are.
    fn marks(&self) -> impl Iterator<Item = (f64, f64)> {
        let powers = self.powers.clone().map(|power| 10_f64.powi(power));
        powers.map(|value| (value, self.at(value)))
    }
}

/// A power of ten, with commas between thousands.
fn written(power: f64) -> String {
    let mut text = power.to_string();
    if power >= 1e3 {
        for at in (1..text.len())
            .rev()
            .filter(|at| (text.len() - at) % 3 == 0)
            .collect::<Vec<_>>()
        {
            text.insert(at, ',');
        }
    }
    text
}

fn line(svg: &mut String, places: &[[f64; 2]], colour: &str, width: u8) {
    let places = places.iter().map(|[x, y]| format!("{x:.1} {y:.1}"));
    let path = places.collect::<Vec<_>>().join("L");
    let _ = writeln!(
        svg,
        "<path d=\"M{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\"/>"
    );
}

fn text(svg: &mut String, [x, y]: [f64; 2], anchor: &str, text: &str, colour: &str) {
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"{colour}\">{text}</text>"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_have_the_decades_of_their_values() {
        let axis = Axis::of([3.0, 250.0].into_iter(), 0.0, 300.0);
        let marks: Vec<_> = axis
            .marks()
            .map(|(value, at)| (value, at.round()))
            .collect();
        assert_eq!(
            marks,
            [(1.0, 0.0), (10.0, 100.0), (100.0, 200.0), (1000.0, 300.0)]
        );
        assert!((axis.at(10.0) - 100.0).abs() < 1e-9);
        let flat = Axis::of([10.0].into_iter(), 0.0, 300.0);
        assert_eq!(flat.marks().count(), 2);
    }

    #[test]
    fn powers_are_written_with_commas() {
        let powers = [0.1, 1.0, 100.0, 1e3, 1e6].map(written);
        assert_eq!(powers, ["0.1", "1", "100", "1,000", "1,000,000"]);
    }

    #[test]
    fn each_curve_is_a_line_with_its_name() {
        let curve = |name: &str| Curve {
            name: name.to_owned(),
            points: vec![[1.0, 2.0], [10.0, 20.0]],
        };
        let plot = Plot {
            file: "x.svg",
            title: "A plot",
            units: ["", " ms"],
            curves: vec![curve("tasks"), curve("random")],
        };
        let svg = plot.svg();
        assert_eq!(svg.matches("stroke-width=\"2\"").count(), 2);
        assert!(
            svg.contains(">random<") && svg.contains(">100 ms<"),
            "{svg}"
        );
    }
}
