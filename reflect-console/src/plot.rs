//! Plots as SVG, with their contents in words.

use std::fmt::Write as _;

/// The size of a small plot, in units of its view box.
const WIDTH: f64 = 300.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 100.0;
const MAX_POINTS: usize = 300;

/// A utility over its reviews.
#[derive(Clone, Debug)]
pub(crate) struct UtilityPlot {
    /// The path of the line.
    pub(crate) line: String,
    /// The last point.
    pub(crate) end: (String, String),
    /// What the plot shows.
    pub(crate) description: String,
}

impl UtilityPlot {
    /// The plot of a utility's values, oldest first; `None` for fewer than two.
    pub(crate) fn new(values: &[f64]) -> Option<Self> {
        let (Some(first), Some(last)) = (values.first(), values.last()) else {
            return None;
        };
        if values.len() < 2 {
            return None;
        }
        let mut line = String::new();
        let mut end = (String::new(), String::new());
        // More points than the plot is wide cannot be told apart.
        let step = values.len().div_ceil(MAX_POINTS);
        let is_drawn = |place: &usize| place.is_multiple_of(step) || place + 1 == values.len();
        for place in (0..values.len()).filter(is_drawn) {
            let value = &values[place];
            let (x, y) = (across(place, values.len()), height(*value));
            let command = if place == 0 { 'M' } else { 'L' };
            // Writing to a string cannot fail.
            let _ = write!(line, "{command}{x:.1} {y:.1}");
            end = (format!("{x:.1}"), format!("{y:.1}"));
        }
        let (low, high) = values.iter().fold((f64::MAX, f64::MIN), |(low, high), v| {
            (low.min(*v), high.max(*v))
        });
        let movement = match last - first {
            change if change > 0.005 => "rose",
            change if change < -0.005 => "fell",
            _ => "went",
        };
        let reviews = values.len() - 1;
        let noun = if reviews == 1 { "review" } else { "reviews" };
        let description = format!(
            "The utility {movement} from {first:.2} to {last:.2} over {reviews} {noun}, between {low:.2} \
             and {high:.2}"
        );
        Some(Self {
            line,
            end,
            description,
        })
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a plot has far fewer points than 2^52"
)]
fn across(place: usize, count: usize) -> f64 {
    WIDTH * place as f64 / (count - 1) as f64
}

fn height(value: f64) -> f64 {
    BOTTOM - (BOTTOM - TOP) * value.clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plot_says_in_words_what_it_shows() {
        let plot = UtilityPlot::new(&[0.5, 0.65, 0.455]).unwrap();
        assert_eq!(plot.line, "M0.0 55.0L150.0 41.5L300.0 59.0");
        assert_eq!(
            plot.description,
            "The utility fell from 0.50 to 0.46 over 2 reviews, between 0.46 and 0.65"
        );
        let many = UtilityPlot::new(&vec![0.5; 100_000]).unwrap();
        assert!(many.line.len() < 5_000, "{}", many.line.len());
        assert_eq!(many.end.0, "300.0");
        assert!(UtilityPlot::new(&[0.5]).is_none());
        assert!(UtilityPlot::new(&[]).is_none());
    }
}
