mod from_junit;
mod walk;

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{ArgGroup, Args};
use reflect_sdk::ReflectClient;
use reflect_types::{Review, ReviewByKey, Trace, TraceId, Verdict};

use crate::command_line::{hint, quoted};
use crate::failure::Failure;
use crate::labels::{Label, metadata};
use crate::output;
use crate::place::Place;

#[derive(Debug, Args)]
#[command(group(ArgGroup::new("run").args(["trace", "run_key", "matching"]).multiple(true)))]
#[command(group(ArgGroup::new("verdict").args(["pass", "fail", "withdraw"]).requires("run")))]
pub(crate) struct Options {
    /// The run to review; without it, every pending run in turn, oldest first.
    #[arg(requires = "verdict")]
    trace: Option<TraceId>,
    /// Review the run with this idempotency key.
    #[arg(long, value_name = "KEY", requires = "verdict", conflicts_with_all = ["trace", "withdraw"])]
    run_key: Option<String>,
    /// Review the only run with this metadata, or the only one of them without a review; with
    /// `--from-junit`, besides the name of the test. Repeat it for more; `NAME:=JSON` is a number or a
    /// boolean.
    #[arg(
        long = "match", id = "matching", value_name = "NAME=TEXT", value_parser = Label::parse,
        conflicts_with_all = ["trace", "withdraw"]
    )]
    matching: Vec<Label>,
    /// Review by the results of tests, in a `JUnit` report; `-` for standard input. A test case names its run
    /// by the property `reflect.trace` or `reflect.key`, or its name is the metadata `test` of the run.
    #[arg(
        long, value_name = "FILE", conflicts_with_all = ["trace", "run_key", "verdict", "limit", "judged"]
    )]
    from_junit: Option<PathBuf>,
    /// The run passed, with what was good about it.
    #[arg(long, value_name = "WHY", num_args = 0..=1, default_missing_value = "")]
    pass: Option<String>,
    /// The run failed, with the reason to learn from.
    #[arg(long, value_name = "WHY", num_args = 0..=1, default_missing_value = "")]
    fail: Option<String>,
    /// Replace the run's review.
    #[arg(long, requires = "trace", conflicts_with = "withdraw")]
    change: bool,
    /// Withdraw the review and undo its effects.
    #[arg(long)]
    withdraw: bool,
    /// Maximum number of runs to review.
    #[arg(long, conflicts_with = "trace")]
    limit: Option<NonZeroUsize>,
    /// Review the runs that a model judged, instead of the pending ones. Your verdict replaces the
    /// model's.
    #[arg(long, conflicts_with = "trace")]
    judged: bool,
    #[command(flatten)]
    place: Place,
}

pub(crate) async fn run(options: Options) -> Result<(), Failure> {
    let client = options.place.client_with_models().await?;
    if let Some(file) = &options.from_junit {
        let matching = metadata(&options.matching);
        return from_junit::run(&client, file, &matching, options.place.json).await;
    }
    if options.run_key.is_some() || !options.matching.is_empty() {
        return by_key(&client, options).await;
    }
    let Some(id) = &options.trace else {
        return walk::run(
            &client,
            options.limit.map(NonZeroUsize::get),
            options.judged,
            options.place.json,
        )
        .await;
    };
    let review = judged(options.pass, options.fail);
    let feedback = review.feedback_text.clone();
    let trace = match (options.withdraw, options.change) {
        (true, _) => client.withdraw_review(id).await?,
        (false, true) => client.change_review(id, review).await?,
        (false, false) => {
            let judged = client.review_trace(id, review).await;
            judged.map_err(|error| refusal(error, id.as_str()))?
        }
    };
    let is_kept =
        !options.withdraw && !options.change && has_other_words(&trace, feedback.as_deref());
    tell(&trace, is_kept, options.place.json)
}

/// Reviews the run that a key or metadata names.
async fn by_key(client: &ReflectClient, options: Options) -> Result<(), Failure> {
    if options.pass.is_none() && options.fail.is_none() {
        return Err(Failure::usage(
            "--match names one run to review: add --pass or --fail WHY, or --from-junit FILE",
        ));
    }
    let review = judged(options.pass, options.fail);
    let feedback = review.feedback_text.clone();
    let by_key = ReviewByKey {
        idempotency_key: options.run_key,
        metadata: metadata(&options.matching),
        review,
    };
    let reviewed = client.request(by_key).await;
    let trace = reviewed.map_err(|error| refusal(error, "ID"))?;
    let is_kept = has_other_words(&trace, feedback.as_deref());
    tell(&trace, is_kept, options.place.json)
}

/// The review of these flags.
fn judged(pass: Option<String>, fail: Option<String>) -> Review {
    match fail {
        Some(words) => review(Verdict::Fail, words),
        None => review(Verdict::Pass, pass.unwrap_or_default()),
    }
}

/// A review; without a reason, it has no words of its own.
fn review(verdict: Verdict, words: String) -> Review {
    Review {
        feedback_text: Some(words).filter(|words| !words.is_empty()),
        ..Review::new(verdict)
    }
}

/// A refusal in the words of this command. Those of the API name its own operations.
fn refusal(error: reflect_sdk::Error, id: &str) -> Failure {
    const IN_THE_API: &str = ": replace that review with change_review";

    let failure = Failure::from(error);
    if !failure.is_conflict() {
        return failure;
    }
    let said = failure.to_string();
    let reviewed = said.split_once(IN_THE_API).map_or(&*said, |(said, _)| said);
    let id = quoted(&output::id(id));
    let [change, withdraw] =
        ["--change", "--withdraw"].map(|how| hint(&format!("review {id} {how}")));
    Failure::conflict(format!(
        "{reviewed}: `{change}` with --pass or --fail WHY replaces that review, `{withdraw}` takes it back"
    ))
}

/// Whether the run had the verdict before, with words that stay.
fn has_other_words(trace: &Trace, words: Option<&str>) -> bool {
    let stored = trace.review.as_ref();
    stored.is_some_and(|stored| stored.feedback_text.as_deref() != words)
}

/// Tells what became of a review, or that the one before `is_kept`.
fn tell(trace: &Trace, is_kept: bool, json: bool) -> Result<(), Failure> {
    if is_kept {
        let id = quoted(&output::id(trace.id.as_str()));
        let change = format!("review {id} --change");
        eprintln!(
            "the run has this verdict already, with other feedback: `{}` with --pass or --fail WHY replaces it",
            hint(&change)
        );
    }
    match &trace.review {
        _ if json => output::json(trace),
        Some(review) if is_kept => output::say(format_args!("{}: as before", review.result)),
        _ => show(trace),
    }
}

fn show(trace: &Trace) -> Result<(), Failure> {
    let Some(review) = &trace.review else {
        return output::say(format_args!("{} is pending again", trace.id));
    };
    if let Some(memory) = &trace.created_memory_id {
        return output::say(format_args!("{}: learned {memory}", review.result));
    }
    let reason = trace
        .last_ingest_error
        .as_deref()
        .unwrap_or("waiting in the queue");
    output::say(format_args!(
        "{}: stored, its memory is {}: {}",
        review.result,
        trace.ingest_status,
        output::line(reason, 400)
    ))
}
