//! What the checks found.

use serde::Serialize;

use crate::failure::Failure;
use crate::output;

/// The result of one check.
#[derive(Debug, Serialize)]
struct Finding {
    level: Level,
    what: String,
    /// How to fix it.
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Level {
    Good,
    Warning,
    Bad,
}

#[derive(Debug, Default)]
pub(super) struct Findings(Vec<Finding>);

impl Findings {
    /// Prints the findings. A bad one fails the command.
    pub(super) fn report(&self, json: bool) -> Result<(), Failure> {
        if json {
            output::json(&self.0)?;
        } else {
            self.print()?;
        }
        if self.0.iter().any(|finding| finding.level == Level::Bad) {
            return Err(Failure::general(""));
        }
        Ok(())
    }

    pub(super) fn good(&mut self, what: impl Into<String>) {
        self.add(Level::Good, what, None);
    }

    pub(super) fn warn(&mut self, what: impl Into<String>, fix: &str) {
        self.add(Level::Warning, what, Some(fix));
    }

    pub(super) fn bad(&mut self, what: impl Into<String>, fix: &str) {
        self.add(Level::Bad, what, Some(fix));
    }

    fn add(&mut self, level: Level, what: impl Into<String>, fix: Option<&str>) {
        self.0.push(Finding {
            level,
            what: what.into(),
            fix: fix.map(str::to_owned),
        });
    }

    fn print(&self) -> Result<(), Failure> {
        for finding in &self.0 {
            let mark = match finding.level {
                Level::Good => "ok  ",
                Level::Warning => "warn",
                Level::Bad => "BAD ",
            };
            output::say(format_args!("{mark}  {}", finding.what))?;
            if let Some(fix) = &finding.fix {
                output::say(format_args!("      {fix}"))?;
            }
        }
        Ok(())
    }
}
