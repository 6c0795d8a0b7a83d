//! Reviews by the results of tests.

use std::io::Read as _;
use std::path::Path;

use reflect_sdk::ReflectClient;
use reflect_types::{Metadata, Review, ReviewByKey, Trace, Verdict};
use serde::Serialize;

use crate::failure::Failure;
use crate::junit::{RunName, TestCase, parse};
use crate::{input, output};

/// The largest report, in bytes.
const MAX_BYTES: u64 = 64 * 1024 * 1024;
/// The metadata that holds the name of a run's test.
const TEST: &str = "test";
/// The problems that are listed.
const MAX_LISTED: usize = 20;

/// What became of the test cases of a report.
#[derive(Debug, Default, Serialize)]
struct Report {
    passed: usize,
    failed: usize,
    /// Skipped by the test runner.
    skipped: usize,
    /// Tests of nothing that is recorded.
    without_a_run: usize,
    problems: Vec<Problem>,
}

#[derive(Debug, Serialize)]
struct Problem {
    test: String,
    reason: String,
}

/// Reviews the runs that the test cases of a report name.
pub(super) async fn run(
    client: &ReflectClient,
    file: &Path,
    matching: &Metadata,
    json: bool,
) -> Result<(), Failure> {
    let named =
        |error| Failure::general(format!("{}: {error}. Nothing was reviewed", file.display()));
    let cases = parse(&read(file).map_err(named)?).map_err(named)?;
    let count = cases.len();
    let mut report = Report::default();
    let mut first_problem = None;
    for (done, case) in cases.into_iter().enumerate() {
        let Some(review) = case.review.clone() else {
            report.skipped += 1;
            continue;
        };
        let verdict = review.result;
        match reviewed(client, &case, review, matching).await {
            Ok(_) if verdict == Verdict::Pass => report.passed += 1,
            Ok(_) => report.failed += 1,
            // Most tests of a suite are not about a run.
            Err(error) if error.status() == Some(404) && case.run == RunName::Test => {
                report.without_a_run += 1;
            }
            Err(error) => {
                let fatal = !matches!(error.status(), Some(404 | 409 | 422));
                let failure = Failure::from(error);
                if fatal {
                    let problem = failure.at(format_args!(
                        "stopped after {done} of {count} test cases, whose reviews are stored: run it again"
                    ));
                    show(&report, json)?;
                    return Err(problem);
                }
                report.problems.push(Problem {
                    test: case.name,
                    reason: failure.to_string(),
                });
                first_problem.get_or_insert(failure);
            }
        }
    }
    show(&report, json)?;
    first_problem.map_or(Ok(()), |failure| Err(failure.reported()))
}

fn read(file: &Path) -> Result<String, String> {
    let (input, _) = input::open(file).map_err(|error| error.to_string())?;
    let mut text = String::new();
    let read = input.take(MAX_BYTES + 1).read_to_string(&mut text);
    let bytes = read.map_err(|error| error.to_string())?;
    if bytes as u64 > MAX_BYTES {
        return Err(format!(
            "the report has more than {MAX_BYTES} bytes: split it"
        ));
    }
    Ok(text)
}

async fn reviewed(
    client: &ReflectClient,
    case: &TestCase,
    review: Review,
    matching: &Metadata,
) -> reflect_sdk::Result<Trace> {
    match &case.run {
        RunName::Trace(id) => client.review_trace(id.as_str(), review).await,
        RunName::Key(key) => client.review_by_key(key, review).await,
        RunName::Test => {
            let mut by_test = ReviewByKey::matching(TEST, case.name.as_str(), review);
            by_test.metadata.extend(matching.clone());
            client.request(by_test).await
        }
    }
}

fn show(report: &Report, json: bool) -> Result<(), Failure> {
    if json {
        return output::json(report);
    }
    let Report {
        passed,
        failed,
        skipped,
        without_a_run,
        problems,
    } = report;
    output::say(format_args!(
        "{passed} passed, {failed} failed, {skipped} skipped, {without_a_run} without a run, {} not reviewed",
        problems.len()
    ))?;
    for Problem { test, reason } in problems.iter().take(MAX_LISTED) {
        eprintln!("  {}: {}", output::id(test), output::id(reason));
    }
    if problems.len() > MAX_LISTED {
        eprintln!(
            "  and {} more: see them with --json",
            problems.len() - MAX_LISTED
        );
    }
    Ok(())
}
