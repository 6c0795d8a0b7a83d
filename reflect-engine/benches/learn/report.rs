//! Pass rates as tables.

use std::fmt;

use crate::life::Rates;
use crate::policy::Kind;
use crate::tasks::TaskSet;
use crate::world::Condition;

/// What the policies reached in one simulation; `None` for those that had no part in it.
pub(crate) struct Outcome {
    pub(crate) condition: usize,
    pub(crate) rates: [Option<Rates>; Kind::ALL.len()],
}

pub(crate) struct Report {
    rows: Vec<Row>,
    /// The pass rates of the baseline, in percent.
    baseline: Rates,
}

/// A policy against the baseline.
struct Row {
    title: String,
    columns: [Column; 3],
}

/// Points of pass rate.
struct Column {
    mean: f64,
    /// Half of the 95 % interval of the mean.
    margin: f64,
    worst: f64,
}

/// Whether a condition belongs to a row.
type Counts<'a> = &'a dyn Fn(&Condition) -> bool;

impl Report {
    pub(crate) fn new(conditions: &[Condition], sets: &[TaskSet], outcomes: &[Outcome]) -> Self {
        let place = |kind| Kind::ALL.iter().position(|other| *other == kind);
        let baseline = place(Kind::BASELINE).expect("a listed policy");
        let learned = place(Kind::Learned).expect("a listed policy");
        let row = |title: String, policy: usize, counts: Counts<'_>| {
            let of = |condition: usize, column: usize| -> Vec<f64> {
                let those = outcomes
                    .iter()
                    .filter(|outcome| outcome.condition == condition);
                let gain = |o: &Outcome| {
                    let (rates, baseline) = (o.rates[policy]?, o.rates[baseline]?);
                    Some(100.0 * (rates[column] - baseline[column]))
                };
                those.filter_map(gain).collect()
            };
            let counted = || (0..conditions.len()).filter(|c| counts(&conditions[*c]));
            Row {
                title,
                columns: std::array::from_fn(|column| {
                    let all: Vec<_> = counted().flat_map(|c| of(c, column)).collect();
                    let means = counted().map(|c| mean(&of(c, column)));
                    Column {
                        mean: mean(&all),
                        margin: margin(&all),
                        worst: means.fold(f64::MAX, f64::min),
                    }
                }),
            }
        };
        let mut rows: Vec<_> = (0..Kind::ALL.len())
            .filter(|policy| *policy != baseline)
            .map(|policy| row(Kind::ALL[policy].name().to_owned(), policy, &|_| true))
            .collect();
        let of_learned: [(&str, Counts<'_>); 4] = [
            ("right reviews", &|c| c.wrong == 0.0),
            ("20 % wrong reviews", &|c| c.wrong > 0.0),
            ("the same luck", &|c| !c.redrawn),
            ("new luck", &|c| c.redrawn),
        ];
        rows.extend(
            of_learned.map(|(name, counts)| row(format!("learned, {name}"), learned, counts)),
        );
        for (place, set) in sets.iter().enumerate() {
            let title = format!("learned, {}", set.name);
            rows.push(row(title, learned, &|c| c.set == place));
        }
        let rates = |column: usize| {
            let rates = outcomes.iter().filter_map(|o| o.rates[baseline]);
            rates.map(move |rates| rates[column])
        };
        Self {
            rows,
            baseline: std::array::from_fn(|column| {
                100.0 * mean(&rates(column).collect::<Vec<_>>())
            }),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [repeated, unseen, learning] = self.baseline;
        writeln!(
            f,
            "Points of pass rate against {}, which passes {repeated:.1} % of repeated tasks, \
             {unseen:.1} % of unseen ones and {learning:.1} % while learning:\n\
             mean ± 95 % interval (worst condition).\n",
            Kind::BASELINE.name()
        )?;
        writeln!(f, "| | repeated tasks | unseen tasks | while learning |")?;
        writeln!(f, "|---|---|---|---|")?;
        for Row { title, columns } in &self.rows {
            let cells = columns.each_ref().map(|column| {
                let Column {
                    mean,
                    margin,
                    worst,
                } = column;
                format!("{mean:+.1} ± {margin:.1} ({worst:+.1})")
            });
            writeln!(f, "| {title} | {} |", cells.join(" | "))?;
        }
        Ok(())
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn margin(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
    let count = values.len() as f64;
    1.96 * (squares / (count - 1.0).max(1.0) / count).sqrt()
}
