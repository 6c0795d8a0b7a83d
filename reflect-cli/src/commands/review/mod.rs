mod walk;

use std::num::NonZeroUsize;

use clap::{ArgGroup, Args};
use reflect_types::{Review, ReviewRecord, Trace, TraceId};

use crate::failure::Failure;
use crate::output;
use crate::place::Place;

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[command(group(ArgGroup::new("verdict").args(["pass", "fail", "withdraw"]).requires("trace")))]
pub(crate) struct Options {
    #[command(flatten)]
    place: Place,
    /// The run to review; without it, every pending run in turn, oldest first.
    #[arg(requires = "verdict")]
    trace: Option<TraceId>,
    /// The run passed.
    #[arg(long)]
    pass: bool,
    /// The run failed, with the reason to learn from.
    #[arg(long, value_name = "WHY", num_args = 0..=1, default_missing_value = walk::NO_REASON)]
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
}

pub(crate) async fn run(options: Options) -> Result<(), Failure> {
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
    let feedback = review.feedback_text.clone();
    let trace = match (options.withdraw, options.change) {
        (true, _) => client.withdraw_review(id).await?,
        (false, true) => client.change_review(id, review).await?,
        (false, false) => {
            let judged = client.review_trace(id, review).await;
            judged
                .map_err(|error| Failure::from(error).with_advice("use --change or --withdraw"))?
        }
    };
    let stored = trace.review.as_ref().map(ReviewRecord::comment);
    let differs = stored.is_some_and(|stored| stored != feedback.as_deref());
    if !options.withdraw && !options.change && differs {
        eprintln!("the run has this verdict already, with other feedback: --change replaces it");
    }
    if options.place.json {
        return output::json(&trace);
    }
    show(&trace)
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
