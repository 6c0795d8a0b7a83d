//! The marks as a table.

use std::fmt;

use crate::arm::Arm;
use crate::options::Options;

pub(crate) struct Report {
    heading: String,
    /// The share of right answers in the first half and the second, by arm and seed.
    halves: Vec<(Arm, [f64; 2])>,
}

impl Report {
    pub(crate) fn new(model: &str, options: &Options) -> Self {
        Self {
            heading: format!(
                "Model {model}: {} exams of {} messages, 8 topics each. Right answers in percent.",
                options.seeds, options.messages
            ),
            halves: Vec::new(),
        }
    }

    pub(crate) fn add(&mut self, arm: Arm, marks: &[bool]) {
        let (first, second) = marks.split_at(marks.len() / 2);
        self.halves.push((arm, [share(first), share(second)]));
    }

    /// The arms that sat the exam, in their order.
    fn arms(&self) -> impl Iterator<Item = Arm> {
        let sat = |arm: &Arm| self.halves.iter().any(|(other, _)| other == arm);
        Arm::ALL.into_iter().filter(sat)
    }

    fn of(&self, arm: Arm, half: usize) -> Vec<f64> {
        let those = self.halves.iter().filter(|(other, _)| *other == arm);
        those.map(|(_, halves)| halves[half]).collect()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n", self.heading)?;
        writeln!(
            f,
            "| | first half | second half | each seed | gain in the second half |"
        )?;
        writeln!(f, "|---|---|---|---|---|")?;
        let alone = self.of(Arm::Alone, 1);
        let alone = (!alone.is_empty()).then(|| mean(&alone));
        for arm in self.arms() {
            let second = self.of(arm, 1);
            let each: Vec<_> = second.iter().map(|share| format!("{share:.0}")).collect();
            writeln!(
                f,
                "| {} | {:.0} | {:.0} | {} | {} |",
                arm.name(),
                mean(&self.of(arm, 0)),
                mean(&second),
                each.join(", "),
                alone.map_or_else(String::new, |alone| format!(
                    "{:+.0}",
                    mean(&second) - alone
                )),
            )?;
        }
        Ok(())
    }
}

/// The share of right answers, in percent.
#[expect(clippy::cast_precision_loss, reason = "an exam has few questions")]
fn share(marks: &[bool]) -> f64 {
    let right = marks.iter().filter(|mark| **mark).count();
    100.0 * right as f64 / marks.len().max(1) as f64
}

#[expect(clippy::cast_precision_loss, reason = "there are few seeds")]
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}
