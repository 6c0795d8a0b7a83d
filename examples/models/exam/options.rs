//! The command line.

use crate::arm::Arm;

const HELP: &str = "\
Options:
  --seeds N      exams, each with other topics and messages (default 3, at most 3)
  --messages N   messages an exam (default 160, at most 160)
  --arm NAME     alone, full or compact; may be given several times (default: all)";

pub(crate) struct Options {
    pub(crate) seeds: usize,
    pub(crate) messages: usize,
    pub(crate) arms: Vec<Arm>,
}

impl Options {
    pub(crate) fn from_arguments() -> Self {
        let mut options = Self {
            seeds: 3,
            messages: 160,
            arms: Vec::new(),
        };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            if matches!(argument.as_str(), "--help" | "-h") {
                stop(HELP);
            }
            let value = arguments.next().unwrap_or_default();
            let number = |most: usize| match value.parse() {
                Ok(number) if (1..=most).contains(&number) => number,
                _ => stop(&format!("{argument} needs a number from 1 to {most}")),
            };
            match argument.as_str() {
                "--seeds" => options.seeds = number(3),
                "--messages" => options.messages = number(160),
                "--arm" => match Arm::ALL.iter().find(|arm| arm.name() == value) {
                    Some(arm) => options.arms.push(*arm),
                    None => stop("--arm needs alone, full or compact"),
                },
                other => stop(&format!("unknown option `{other}`\n{HELP}")),
            }
        }
        if options.arms.is_empty() {
            options.arms = Arm::ALL.to_vec();
        }
        options
    }
}

fn stop(message: &str) -> ! {
    eprintln!("{message}");
    std::process::exit(2)
}
