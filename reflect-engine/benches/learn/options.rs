//! The command line.

use crate::tasks::TaskSet;

const HELP: &str = "\
Options:
  --tasks FILE   a task set of your own, [{\"task\": \"...\", \"skills\": [\"...\"]}], in place of the built-in
                 ones; may be given several times
  --seeds N      simulations a condition (default 16)
  --threads N    concurrent simulations (default 2)";

pub(crate) struct Options {
    files: Vec<String>,
    pub(crate) seeds: u64,
    pub(crate) threads: usize,
}

impl Options {
    pub(crate) fn from_arguments() -> Self {
        let mut options = Self {
            files: Vec::new(),
            seeds: 16,
            threads: 2,
        };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            let mut value = || {
                arguments
                    .next()
                    .unwrap_or_else(|| stop(&format!("{argument} needs a value")))
            };
            match argument.as_str() {
                "--tasks" => options.files.push(value()),
                "--seeds" => options.seeds = number(&value()),
                "--threads" => options.threads = usize::try_from(number(&value())).unwrap_or(2),
                // `cargo bench` adds it.
                "--bench" => {}
                "--help" | "-h" => stop(HELP),
                other => stop(&format!("unknown option `{other}`\n{HELP}")),
            }
        }
        options
    }

    pub(crate) fn sets(&self) -> Vec<TaskSet> {
        if self.files.is_empty() {
            return TaskSet::built_in();
        }
        let read = |file: &String| TaskSet::read(file).unwrap_or_else(|error| stop(&error));
        self.files.iter().map(read).collect()
    }
}

fn number(text: &str) -> u64 {
    match text.parse() {
        Ok(number) if number > 0 => number,
        _ => stop(&format!("`{text}` is not a number above 0")),
    }
}

fn stop(message: &str) -> ! {
    eprintln!("{message}");
    std::process::exit(2)
}
