//! Reviews of runs by the ID that they have from their start.

use std::future::{Future, IntoFuture, poll_fn};
use std::pin::pin;
use std::task::Poll;

use reflect_sdk::{Error, Review, Trace, TraceOutput, Verdict};

use crate::on_every_transport;
use crate::world::{LIMIT, World};

on_every_transport!(
    a_review_waits_for_its_run,
    a_run_that_has_arrived_is_reviewed_by_any_client,
    a_run_that_never_arrives_is_named_with_the_reason,
    a_handle_reviews_its_run,
);

fn verdict(trace: &Trace) -> (Verdict, bool) {
    let review = trace.review.as_ref().unwrap();
    (review.result, trace.created_memory_id.is_some())
}

fn a_review_waits_for_its_run(world: &World) {
    let client = world.client_with(|builder| builder);
    let run = client.trace("Refund order 7").start_blocking();
    let review = client.review_run(run.run_id(), Review::fail("Too late"));
    let reviewed = pollster::block_on(async {
        let mut reviewing = pin!(review.into_future());
        let is_open = poll_fn(|cx| Poll::Ready(reviewing.as_mut().poll(cx).is_pending()));
        assert!(is_open.await);
        run.set_output(TraceOutput::new("Refunded."));
        drop(run);
        reviewing.await
    });
    assert_eq!(verdict(&reviewed.unwrap()), (Verdict::Fail, true));
    assert_eq!(world.recall("Refund order 8").len(), 1);
}

fn a_run_that_has_arrived_is_reviewed_by_any_client(world: &World) {
    let client = world.client();
    let run = client.trace("Refund order 7").start_blocking();
    let run_id = run.run_id().to_owned();
    run.set_output(TraceOutput::new("Refunded."));
    run.finish_blocking(LIMIT).unwrap();
    let other = world.client_with(|builder| builder).blocking();
    let reviewed = other.review_run(&run_id, Verdict::Pass).call().unwrap();
    assert_eq!(verdict(&reviewed), (Verdict::Pass, true));
    // As a thumb that is clicked twice.
    let again = client.review_run(&run_id, Verdict::Pass).call();
    assert_eq!(again.unwrap().created_memory_id, reviewed.created_memory_id);
}

fn a_run_that_never_arrives_is_named_with_the_reason(world: &World) {
    let client = world.client();
    let refused = |run_id: &str| match client.review_run(run_id, Verdict::Pass).call() {
        Err(Error::NotArrived { run_id, reason }) => (run_id, reason),
        other => panic!("{other:?}"),
    };
    let (run_id, reason) = refused("run-7");
    assert_eq!(run_id, "run-7");
    assert!(reason.contains("none of this client's runs"), "{reason}");

    let run = client.trace("Refund order 7").start_blocking();
    let (context, review) = (
        run.context().clone(),
        client.review_run(run.run_id(), Verdict::Pass),
    );
    run.discard();
    let discarded = review.call().unwrap_err();
    let expected = format!("the run `{}` cannot be reviewed", context.run_id());
    assert!(discarded.to_string().contains(&expected), "{discarded}");
    assert!(
        discarded.to_string().contains("it was discarded"),
        "{discarded}"
    );

    let invalid = client.review_run("", Verdict::Pass).call().unwrap_err();
    assert!(matches!(invalid, Error::Invalid(_)), "{invalid}");
}

fn a_handle_reviews_its_run(world: &World) {
    let client = world.client();
    for review_it in [0, 1] {
        let run = client.trace("Refund order 7").start_blocking();
        let handle = run.handle();
        run.set_output(TraceOutput::new("Refunded."));
        drop(run);
        let reviewed = if review_it == 0 {
            handle.review_blocking(Review::pass())
        } else {
            pollster::block_on(handle.review(Review::pass()))
        };
        assert_eq!(verdict(&reviewed.unwrap()), (Verdict::Pass, true));
    }
    let invalid = client.trace("Refund order 7").start_blocking().handle();
    let invalid = invalid.review_blocking(Review::pass().alpha(2.0));
    assert!(matches!(invalid, Err(Error::Invalid(_))), "{invalid:?}");
}
