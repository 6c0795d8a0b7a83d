use crate::fnv::place;
use crate::validate::{InvalidField, within};
use crate::wire_enum::wire_enum;

wire_enum! {
    /// The side of a comparison that a run was drawn for: with memories, or without them.
    ///
    /// A trace without an arm took part in no comparison.
    pub enum Arm {
        /// The run was given no memories, whatever there was.
        Control = "control",
        /// The run was given the memories that were found, which may be none.
        Memories = "memories",
    }
}

impl Arm {
    /// The arm of a run, where a share of the runs from 0 to 1 is to have no memories. `None` for a share
    /// of 0: without a control arm, nothing is compared.
    ///
    /// It depends on nothing else and is the same on every platform and in every version. A run that is
    /// in the control arm at one share is in it at every greater one.
    ///
    /// ```
    /// use reflect_types::Arm;
    ///
    /// assert_eq!(Arm::draw("run-1", 0.0), None);
    /// assert_eq!(Arm::draw("run-1", 1.0), Some(Arm::Control));
    /// assert_eq!(Arm::draw("run-1", 0.5), Arm::draw("run-1", 0.5));
    /// ```
    pub fn draw(run_id: &str, share: f64) -> Option<Self> {
        if share <= 0.0 || share.is_nan() {
            return None;
        }
        Some(if place(run_id) < share {
            Self::Control
        } else {
            Self::Memories
        })
    }

    /// Checks a share of runs without memories.
    pub fn check_share(share: f64) -> Result<(), InvalidField> {
        within("control", share, 0.0..=1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arms_stay_what_they_are_in_every_version() {
        // FNV-1a of "foobar", mixed, is 0x2c221949_22d1672b.
        assert!((place("foobar") - 0.172_395_305_594).abs() < 1e-9);
        assert_eq!(Arm::draw("foobar", 0.18), Some(Arm::Control));
        assert_eq!(Arm::draw("foobar", 0.17), Some(Arm::Memories));
    }

    #[test]
    fn the_share_of_control_runs_is_the_one_asked_for() {
        for share in [0.01, 0.1, 0.5] {
            let control = (0..20_000)
                .filter(|n| Arm::draw(&format!("run-{n}"), share) == Some(Arm::Control))
                .count();
            let expected = 20_000.0 * share;
            // Four standard deviations of a binomial draw.
            let room = 4.0 * (expected * (1.0 - share)).sqrt();
            let off = (f64::from(u32::try_from(control).unwrap()) - expected).abs();
            assert!(off < room, "{control} of 20000 at {share}");
        }
    }

    #[test]
    fn a_greater_share_keeps_the_control_runs() {
        for n in 0..1_000 {
            let run = format!("{n}");
            if Arm::draw(&run, 0.1) == Some(Arm::Control) {
                assert_eq!(Arm::draw(&run, 0.3), Some(Arm::Control));
            }
        }
    }

    #[test]
    fn a_share_outside_of_its_range_is_refused() {
        assert_eq!(Arm::check_share(0.0), Ok(()));
        assert_eq!(Arm::check_share(1.0), Ok(()));
        assert_eq!(
            Arm::check_share(1.5).unwrap_err().to_string(),
            "`control` must be from 0 to 1, got 1.5"
        );
        assert!(Arm::check_share(f64::NAN).is_err());
        assert_eq!(Arm::draw("run", f64::NAN), None);
    }
}
