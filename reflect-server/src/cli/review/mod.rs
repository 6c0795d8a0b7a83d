mod walk;

use std::num::NonZeroUsize;

use clap::{ArgGroup, Args};
use reflect_types::{Review, Trace, TraceId};

use super::failure::Failure;
use super::output;
use super::place::Place;

/// What a fail says whose reviewer gave no reason.
const NO_REASON: &str = "The answer was incorrect.";

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[command(group(ArgGroup::new("verdict").args(["pass", "fail", "withdraw"]).requires("trace")))]
pub(super) struct Options {
    #[command(flatten)]
    place: Place,
    /// The run to judge; without it, every pending run is asked about.
    #[arg(requires = "verdict")]
    trace: Option<TraceId>,
    /// It did what was asked.
    #[arg(long)]
    pass: bool,
    /// It did not; say why, as that is what is learned from.
    #[arg(long, value_name = "WHY", num_args = 0..=1, default_missing_value = NO_REASON)]
    fail: Option<String>,
    /// Judge a run otherwise that was judged before.
    #[arg(long, requires = "trace", conflicts_with = "withdraw")]
    change: bool,
    /// Take the review back, with all that came of it.
    #[arg(long)]
    withdraw: bool,
    /// How many runs to ask about, at the most.
    #[arg(long, conflicts_with = "trace")]
    limit: Option<NonZeroUsize>,
    /// Ask about the runs that a model judged, instead of those that wait: what you say counts.
    #[arg(long, conflicts_with = "trace")]
    judged: bool,
}

pub(super) async fn run(options: Options) -> Result<(), Failure> {
    let client = options.place.client_with_models().await?;
    let Some(id) = &options.trace else {
        return walk::run(
            &client,
            options.limit.map(NonZeroUsize::get),
            options.judged,
            options.place.json,
        )
        .await;
    };
    let review = options.fail.map_or_else(Review::pass, Review::fail);
    let said = review.feedback_text.clone();
    let trace = match (options.withdraw, options.change) {
        (true, _) => client.withdraw_review(id).await?,
        (false, true) => client.change_review(id, review).await?,
        (false, false) => {
            let judged = client.review_trace(id, review).await;
            judged.map_err(|error| Failure::from(error).advising("here: --change or --withdraw"))?
        }
    };
    let kept = trace.review.as_ref().map(|review| &review.feedback_text);
    if !options.withdraw && !options.change && kept.is_some_and(|kept| *kept != said) {
        eprintln!("it was judged so before, and stays as it was: --change replaces what was said");
    }
    if options.place.json {
        return output::json(&trace);
    }
    say(&trace)
}

fn say(trace: &Trace) -> Result<(), Failure> {
    let Some(review) = &trace.review else {
        return output::say(format_args!("{} waits for a review again", trace.id));
    };
    if let Some(memory) = &trace.created_memory_id {
        return output::say(format_args!("{}: learned {memory}", review.result));
    }
    // It was kept, and a model does not do its part.
    let reason = trace
        .last_ingest_error
        .as_deref()
        .unwrap_or("its turn will come");
    output::say(format_args!(
        "{}: kept, and {} for its memory: {}",
        review.result,
        trace.ingest_status,
        output::line(reason, 400)
    ))
}
