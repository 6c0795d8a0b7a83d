//! The compile time of `#[reflect_trace]`, beside other attributes on the same functions.
//!
//! A crate of many functions is written into the target folder and checked, once for each
//! attribute. Checks take turns and the best of each counts, because noise only ever adds.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{env, fs, io};

use crate::run::{Outcome, Step, cargo_command, target};

const FUNCTIONS: usize = 600;
/// The functions of a small crate, where each must cost the same.
const FEW: usize = 150;
const ROUNDS: usize = 3;

/// The budget of one attribute, in milliseconds of `cargo check`.
const MOST: f64 = 8.0;
/// The largest ratio of its cost among many functions to that among few. Quadratic work would make
/// it 4.
const STEEPEST: f64 = 2.0;

struct Kind {
    name: &'static str,
    attribute: &'static str,
    context: &'static str,
}

const PLAIN: Kind = other("plain", "");
const OTHERS: [Kind; 3] = [
    other("#[tracing::instrument]", "#[tracing::instrument(skip_all)]"),
    other(
        "#[tracing::instrument(err)]",
        "#[tracing::instrument(skip_all, err)]",
    ),
    other("#[fastrace::trace]", "#[fastrace::trace]"),
];
const TRACED: Kind = Kind {
    name: "#[reflect_trace]",
    attribute: "#[reflect_sdk::reflect_trace(client = client)]",
    context: "ctx: &reflect_sdk::TraceContext, ",
};

const fn other(name: &'static str, attribute: &'static str) -> Kind {
    Kind {
        name,
        attribute,
        context: "",
    }
}

pub(crate) const STEP: Step = Step::new(
    "compile-time",
    "what `#[reflect_trace]` costs at compile time",
    check,
);

fn check() -> Outcome {
    match measure() {
        Ok(cost) => judge(&cost),
        Err(error) => Outcome::Failed(error.to_string()),
    }
}

/// Milliseconds of one attribute among many functions, and among few.
struct Cost {
    many: f64,
    few: f64,
}

fn judge(cost: &Cost) -> Outcome {
    if cost.many > MOST {
        let many = cost.many;
        return Outcome::Failed(format!("it takes {many:.1} ms, and {MOST} ms are allowed"));
    }
    if cost.many > cost.few * STEEPEST {
        return Outcome::Failed(format!(
            "it takes {:.1} ms among {FUNCTIONS} functions and {:.1} ms among {FEW}: the work must \
             not grow faster than their number",
            cost.many, cost.few
        ));
    }
    Outcome::Passed
}

fn measure() -> io::Result<Cost> {
    let fixture = Fixture::new()?;
    let mut rows = vec![
        (&PLAIN, FUNCTIONS, Duration::MAX),
        (&TRACED, FUNCTIONS, Duration::MAX),
        (&PLAIN, FEW, Duration::MAX),
        (&TRACED, FEW, Duration::MAX),
    ];
    rows.extend(OTHERS.iter().map(|kind| (kind, FUNCTIONS, Duration::MAX)));
    println!("checking the dependencies");
    fixture.time(&PLAIN, 1)?;
    for _ in 0..ROUNDS {
        for (kind, functions, best) in &mut rows {
            *best = (*best).min(fixture.time(kind, *functions)?);
        }
    }
    let each = |row: usize, plain: usize| {
        let (_, functions, time) = rows[row];
        let more = time.as_secs_f64() - rows[plain].2.as_secs_f64();
        #[expect(clippy::cast_precision_loss, reason = "they are few")]
        let functions = functions as f64;
        more * 1e3 / functions
    };
    let cost = Cost {
        many: each(1, 0),
        few: each(3, 2),
    };
    println!(
        "{:28} {:>9} {:>12} {:>16}",
        "", "functions", "cargo check", "an attribute"
    );
    for (index, (kind, functions, time)) in rows.iter().enumerate() {
        let each = each(index, if *functions == FEW { 2 } else { 0 });
        let time = time.as_secs_f64();
        println!(
            "{:28} {functions:>9} {time:>10.2} s {each:>13.2} ms",
            kind.name
        );
    }
    Ok(cost)
}

/// A crate of its own, outside of the workspace.
struct Fixture(PathBuf);

impl Fixture {
    fn new() -> io::Result<Self> {
        let root = env::current_dir()?;
        let folder = target().join("compile-time");
        fs::create_dir_all(folder.join("src"))?;
        fs::write(folder.join("Cargo.toml"), manifest(&root)?)?;
        // The versions of the workspace, which are at hand.
        fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock"))?;
        Ok(Self(folder))
    }

    /// How long a check of the crate takes, its dependencies aside.
    fn time(&self, kind: &Kind, functions: usize) -> io::Result<Duration> {
        fs::write(self.0.join("src/lib.rs"), code(kind, functions))?;
        let start = Instant::now();
        let done = cargo_command()
            .args(["check", "--quiet"])
            .env("CARGO_INCREMENTAL", "0")
            .env("CARGO_TARGET_DIR", self.0.join("target"))
            .current_dir(&self.0)
            .output()?;
        let took = start.elapsed();
        if done.status.success() {
            return Ok(took);
        }
        let (name, errors) = (kind.name, String::from_utf8_lossy(&done.stderr));
        let text = format!("{name} does not compile:\n{errors}");
        Err(io::Error::other(text))
    }
}

fn manifest(root: &Path) -> io::Result<String> {
    let workspace = fs::read_to_string(root.join("Cargo.toml"))?;
    let version = |name: &str| {
        let line = workspace
            .lines()
            .find(|line| line.starts_with(&format!("{name} = ")));
        let line = line.ok_or_else(|| io::Error::other(format!("{name} is not a dependency")))?;
        let quoted = line.split('"').nth(1).map(str::to_owned);
        quoted.ok_or_else(|| io::Error::other(format!("{name} has no version")))
    };
    Ok(format!(
        "[package]\nname = \"compile-time\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n\
         fastrace = {{ version = \"{}\", features = [\"enable\"] }}\n\
         reflect-sdk = {{ path = '{}', default-features = false, features = [\"macros\"] }}\n\
         tracing = {{ version = \"{}\", features = [\"attributes\"] }}\n",
        version("fastrace")?,
        root.join("reflect-sdk").display(),
        version("tracing")?,
    ))
}

/// Functions as agents have them, every other one async.
fn code(kind: &Kind, functions: usize) -> String {
    let Kind {
        attribute, context, ..
    } = kind;
    let mut code = "pub type Client = reflect_sdk::ReflectClient;\n".to_owned();
    for number in 0..functions {
        let (asynchronous, wait) = if number % 2 == 0 {
            ("async ", "std::future::ready(()).await;")
        } else {
            ("", "")
        };
        let shown = if context.is_empty() {
            "question"
        } else {
            "ctx.task()"
        };
        // Writing to a String cannot fail.
        let _ = write!(
            code,
            "
{attribute}
pub {asynchronous}fn answer_{number}(
    {context}question: &str,
    client: &Client,
) -> Result<String, std::num::ParseIntError> {{
    let _ = client;
    {wait}
    let number: u64 = question.trim().parse()?;
    Ok(format!(\"{{}}: {{number}}\", {shown}))
}}
"
        );
    }
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attribute_that_is_slow_or_grows_is_refused() {
        let outcome = |many, few| judge(&Cost { many, few });
        assert!(matches!(outcome(3.0, 3.0), Outcome::Passed));
        assert!(matches!(outcome(MOST + 0.1, MOST), Outcome::Failed(_)));
        assert!(matches!(outcome(3.0, 1.0), Outcome::Failed(_)));
    }

    #[test]
    fn every_function_of_the_fixture_has_its_attribute() {
        let code = code(&TRACED, 7);
        assert_eq!(code.matches(TRACED.attribute).count(), 7);
        assert_eq!(code.matches("async fn").count(), 4);
    }
}
