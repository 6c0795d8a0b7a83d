//! A plot of pass rates over time, with their bands.

use std::fmt::Write as _;

use reflect_engine::statistics::Rate;

use crate::text::{count, percent};
use crate::timeline::Interval;

const TOP: f64 = 12.0;
const LEFT: f64 = 46.0;
const BELOW: f64 = 30.0;
/// Room for half of the last label.
const RIGHT: f64 = 22.0;

/// The fewest runs of a value that is drawn: fewer show next to nothing.
pub(crate) const FEWEST: u64 = 5;

/// Pass rates with memories and without, over time.
#[derive(Clone, Debug)]
pub(crate) struct RatePlot {
    /// Tells the two sizes of a plot apart in the ids of its title and description.
    pub(crate) name: &'static str,
    pub(crate) width: f64,
    pub(crate) height: f64,
    /// The path of the lines behind, and their labels.
    pub(crate) grid: String,
    pub(crate) levels: Vec<(String, String)>,
    pub(crate) band: String,
    pub(crate) line: String,
    pub(crate) control: String,
    pub(crate) dots: Vec<Dot>,
    /// The place, the label and the anchor of times.
    pub(crate) ticks: Vec<(String, String, &'static str)>,
}

/// A value of the plot.
#[derive(Clone, Debug)]
pub(crate) struct Dot {
    pub(crate) x: String,
    pub(crate) y: String,
    /// The ends of its interval.
    pub(crate) low: String,
    pub(crate) high: String,
    pub(crate) is_control: bool,
    pub(crate) text: String,
}

/// The range of the vertical axis.
#[derive(Clone, Copy, Debug)]
struct Scale {
    low: f64,
    high: f64,
    step: f64,
    bottom: f64,
}

impl RatePlot {
    /// The plot of these intervals in this size; `None` if none has a value that is drawn.
    pub(crate) fn new(
        name: &'static str,
        (width, height): (f64, f64),
        intervals: &[Interval],
    ) -> Option<Self> {
        let intervals: Vec<&Interval> = intervals
            .iter()
            .filter(|interval| drawn(interval.runs).or(drawn(interval.control)).is_some())
            .collect();
        let (first, last) = (intervals.first()?, intervals.last()?);
        let scale = Scale::of(&intervals, height - BELOW)?;
        let span = f64::from(last.place - first.place);
        let x = |place: i32| {
            let room = width - LEFT - RIGHT;
            let share = if span > 0.0 {
                f64::from(place - first.place) / span
            } else {
                0.5
            };
            LEFT + room * share
        };
        let mut plot = Self {
            name,
            width,
            height,
            grid: String::new(),
            levels: Vec::new(),
            band: String::new(),
            line: String::new(),
            control: String::new(),
            dots: Vec::new(),
            ticks: Vec::new(),
        };
        for level in scale.levels() {
            let y = scale.y(level);
            // Writing to a string cannot fail.
            let _ = write!(plot.grid, "M{LEFT} {y:.1}H{width:.0}");
            plot.levels
                .push((format!("{:.1}", y + 4.0), percent(level)));
        }
        let mut lower = Vec::new();
        for interval in &intervals {
            let x = x(interval.place);
            if let Some((share, low, high)) = drawn(interval.runs) {
                add(&mut plot.line, x, scale.y(share));
                add(&mut plot.band, x, scale.y(high));
                lower.push((x, scale.y(low)));
                plot.dots.push(scale.dot(interval, interval.runs, x, false));
            }
            if let Some((share, ..)) = drawn(interval.control) {
                add(&mut plot.control, x, scale.y(share));
                plot.dots
                    .push(scale.dot(interval, interval.control, x, true));
            }
        }
        for (x, y) in lower.into_iter().rev() {
            add(&mut plot.band, x, y);
        }
        plot.ticks = ticks(&intervals, x);
        Some(plot)
    }

    /// Whether there is one interval only, whose values are dots with whiskers.
    pub(crate) fn is_point(&self) -> bool {
        self.ticks.len() == 1
    }
}

impl Scale {
    fn of(intervals: &[&Interval], bottom: f64) -> Option<Self> {
        let rates = intervals.iter().flat_map(|i| [i.runs, i.control]);
        let (mut low, mut high) = (1.0_f64, 0.0_f64);
        for (share, least, most) in rates.filter_map(drawn) {
            low = low.min(least).min(share);
            high = high.max(most).max(share);
        }
        if low > high {
            return None;
        }
        let tens = |value: f64| value / 10.0;
        let (low, high) = (
            (low * 10.0).floor(),
            (high * 10.0).ceil().max((low * 10.0).floor() + 2.0),
        );
        if high - low > 5.0 {
            return Some(Self {
                low: 0.0,
                high: 1.0,
                step: 0.25,
                bottom,
            });
        }
        Some(Self {
            low: tens(low),
            high: tens(high).min(1.0),
            step: 0.1,
            bottom,
        })
    }

    fn y(self, share: f64) -> f64 {
        let part = (share - self.low) / (self.high - self.low);
        self.bottom - (self.bottom - TOP) * part.clamp(0.0, 1.0)
    }

    fn levels(self) -> impl Iterator<Item = f64> {
        let reached = move |level: &f64| *level <= self.high + 1e-9;
        (0..=10)
            .map(move |n| self.low + f64::from(n) * self.step)
            .take_while(reached)
    }

    fn dot(self, interval: &Interval, rate: Rate, x: f64, is_control: bool) -> Dot {
        let (share, low, high) = shown(rate).unwrap_or_default();
        Dot {
            x: format!("{x:.1}"),
            y: format!("{:.1}", self.y(share)),
            low: format!("{:.1}", self.y(low)),
            high: format!("{:.1}", self.y(high)),
            is_control,
            text: format!(
                "{}: {} of {} passed, 95 % between {} and {}{}",
                interval.label,
                percent(share),
                count(
                    usize::try_from(rate.runs()).unwrap_or(usize::MAX),
                    "run",
                    "runs"
                ),
                percent(low),
                percent(high),
                if is_control { ", control" } else { "" }
            ),
        }
    }
}

/// The share of passes, and the ends of its interval.
pub(crate) fn shown(rate: Rate) -> Option<(f64, f64, f64)> {
    let interval = rate.interval()?;
    Some((rate.share()?, interval.low, interval.high))
}

fn drawn(rate: Rate) -> Option<(f64, f64, f64)> {
    shown(rate).filter(|_| rate.runs() >= FEWEST)
}

/// Whether the interval has a value that is not drawn.
pub(crate) fn leaves_out(interval: &Interval) -> bool {
    [interval.runs, interval.control]
        .iter()
        .any(|rate| (1..FEWEST).contains(&rate.runs()))
}

fn add(path: &mut String, x: f64, y: f64) {
    let command = if path.is_empty() { 'M' } else { 'L' };
    // Writing to a string cannot fail.
    let _ = write!(path, "{command}{x:.1} {y:.1}");
}

/// The first, the middle and the last time.
fn ticks(intervals: &[&Interval], x: impl Fn(i32) -> f64) -> Vec<(String, String, &'static str)> {
    let mut places = vec![0, intervals.len() / 2, intervals.len() - 1];
    places.dedup();
    places
        .iter()
        .map(|place| {
            let interval = intervals[*place];
            let anchor = match *place {
                0 if intervals.len() > 1 => "start",
                last if last + 1 == intervals.len() && last > 0 => "end",
                _ => "middle",
            };
            let at = x(interval.place);
            (format!("{at:.1}"), interval.label.clone(), anchor)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(place: i32, passed: u64, failed: u64) -> Interval {
        Interval {
            place,
            label: format!("{place}"),
            runs: Rate { passed, failed },
            control: Rate::default(),
        }
    }

    #[test]
    fn a_plot_has_a_line_a_band_and_words_for_each_value() {
        let intervals = [
            interval(0, 50, 50),
            interval(1, 60, 40),
            interval(3, 80, 20),
        ];
        let plot = RatePlot::new("wide", (1000.0, 240.0), &intervals).unwrap();
        assert_eq!(plot.line.matches(['M', 'L']).count(), 3);
        assert_eq!(plot.band.matches(['M', 'L']).count(), 6);
        assert_eq!(plot.control, "");
        assert_eq!(
            plot.dots[0].text,
            "0: 50\u{a0}% of 100 runs passed, 95 % between 40\u{a0}% and 60\u{a0}%"
        );
        let levels: Vec<_> = plot
            .levels
            .iter()
            .map(|(_, label)| label.as_str())
            .collect();
        assert_eq!(levels[0], "40\u{a0}%");
        // The time in between without a run keeps its room.
        assert_eq!(plot.dots[1].x, "356.7");
    }

    #[test]
    fn one_interval_is_a_point_and_none_is_no_plot() {
        let plot = RatePlot::new("wide", (1000.0, 240.0), &[interval(0, 4, 2)]).unwrap();
        assert!(plot.is_point());
        assert_eq!(plot.levels.len(), 5, "a wide interval has the whole scale");
        assert!(RatePlot::new("wide", (1000.0, 240.0), &[]).is_none());
    }

    #[test]
    fn a_value_of_a_few_runs_is_not_drawn() {
        let intervals = [interval(0, 4, 2), interval(1, 1, 0)];
        let plot = RatePlot::new("wide", (1000.0, 240.0), &intervals).unwrap();
        assert_eq!(plot.dots.len(), 1);
        assert!(leaves_out(&intervals[1]) && !leaves_out(&intervals[0]));
        assert!(RatePlot::new("wide", (1000.0, 240.0), &intervals[1..]).is_none());
    }
}
