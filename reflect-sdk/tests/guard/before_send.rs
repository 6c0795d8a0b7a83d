//! What runs go through before they leave the process.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};

use reflect_sdk::types::CreateTrace;
use reflect_sdk::{Error, ReflectClient, TraceOutput};

use crate::LIMIT;
use crate::disk::Folder;
use crate::script::{Script, builder, end_one, end_task};

fn with(
    script: &Arc<Script>,
    filter: impl Fn(CreateTrace) -> Option<CreateTrace> + Send + Sync + 'static,
) -> ReflectClient {
    let settings = builder().before_send(filter);
    settings.transport(Arc::clone(script) as _).unwrap()
}

#[test]
fn what_is_redacted_is_sent_under_the_key_of_its_run() {
    let script = Arc::new(Script::default());
    let client = with(&script, |trace| {
        Some(CreateTrace::new(
            trace.task.replace("4111", "[card]"),
            "redacted",
        ))
    });
    let run = client.trace("Charge 4111").no_retrieval().start_blocking();
    let id = run.run_id().to_owned();
    run.set_output(TraceOutput::new("Charged 4111."));
    drop(run);
    assert!(client.blocking().flush(LIMIT).all_sent());
    assert_eq!(script.keys(), [id]);
    let sent = script.taken();
    assert_eq!(sent[0].task, "Charge [card]");
    assert!(!format!("{sent:?}").contains("4111"), "{sent:?}");
}

#[test]
fn what_is_kept_back_is_counted_and_its_handle_is_told() {
    let script = Arc::new(Script::default());
    let client = with(&script, |trace| (trace.task != "private").then_some(trace));
    let private = end_task(&client, "private");
    end_one(&client).wait_blocking(LIMIT).unwrap();
    let kept = private.wait_blocking(LIMIT).unwrap_err();
    assert!(
        matches!(&kept, Error::NotRecorded(why) if why.contains("`before_send`")),
        "{kept}"
    );
    let stats = client.blocking().flush(LIMIT);
    assert!(stats.all_sent(), "{stats:?}");
    assert_eq!((stats.sent, stats.withheld), (1, 1));
}

#[test]
fn a_run_with_which_it_panics_is_dropped_and_the_next_one_is_sent() {
    let script = Arc::new(Script::default());
    let client = with(&script, |trace| {
        assert_ne!(trace.task, "broken", "no such thing");
        Some(trace)
    });
    let broken = end_task(&client, "broken");
    end_one(&client).wait_blocking(LIMIT).unwrap();
    assert!(matches!(
        broken.wait_blocking(LIMIT),
        Err(Error::NotRecorded(_))
    ));
    let stats = client.stats();
    assert_eq!((stats.sent, stats.failed, script.taken().len()), (1, 1, 1));
    assert!(
        stats
            .last_problem
            .unwrap()
            .contains("`before_send` panicked")
    );
}

#[tokio::test]
async fn one_that_blocks_delays_the_sending_and_nothing_else() {
    let script = Arc::new(Script::with_memory("m1"));
    let (release, released) = mpsc::channel::<()>();
    let released = Mutex::new(released);
    let client = with(&script, move |trace| {
        // Until the other end is dropped.
        let _ = released.lock().unwrap().recv();
        Some(trace)
    });
    // On the only thread of this runtime.
    for _ in 0..20 {
        let run = client.trace("task").await;
        assert_eq!(run.memories().len(), 1);
        run.set_output(TraceOutput::new("done"));
    }
    assert_eq!((client.stats().pending, script.taken().len()), (20, 0));
    drop(release);
    assert!(client.flush(LIMIT).await.all_sent());
    assert_eq!(script.taken().len(), 20);
}

#[test]
fn what_is_on_disk_has_gone_through_it_and_does_so_once() {
    let folder = Folder::new();
    let seen = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&seen);
    let settings = builder()
        .spool(folder.path())
        .shutdown_timeout(std::time::Duration::ZERO)
        .before_send(move |mut trace| {
            count.fetch_add(1, Ordering::Relaxed);
            trace.task = format!("{}, redacted", trace.task);
            Some(trace)
        });
    let shut = Arc::new(Script::shut());
    let client = settings.clone().transport(Arc::clone(&shut) as _).unwrap();
    end_task(&client, "secret");
    crate::disk::all_on_disk(&client);
    let text = std::fs::read_to_string(&folder.runs("")[0]).unwrap();
    assert!(text.contains("secret, redacted"), "{text}");
    folder.orphan();
    let open = Arc::new(Script::default());
    let next = settings.transport(Arc::clone(&open) as _).unwrap();
    assert!(next.blocking().flush(LIMIT).all_sent());
    assert_eq!(open.taken()[0].task, "secret, redacted");
    assert_eq!(seen.load(Ordering::Relaxed), 1);
}

#[test]
fn a_sample_has_its_share_of_runs_and_whole_trees_of_them() {
    let script = Arc::new(Script::default());
    let settings = builder().sample(0.3);
    let client = settings.transport(Arc::clone(&script) as _).unwrap();
    for n in 0..400 {
        client.trace(format!("outer {n}")).no_retrieval().run(|_| {
            client
                .trace(format!("inner {n}"))
                .no_retrieval()
                .run(|_| "done".to_owned());
            "done".to_owned()
        });
    }
    let stats = client.blocking().flush(LIMIT);
    assert!(stats.all_sent(), "{stats:?}");
    assert_eq!(stats.sent + stats.withheld, 800);
    // Four standard deviations of a binomial draw of 400.
    assert!((2 * 84..=2 * 156).contains(&stats.sent), "{stats:?}");
    let tasks: Vec<_> = script.taken().into_iter().map(|trace| trace.task).collect();
    for n in 0..400 {
        let has = |level: &str| tasks.contains(&format!("{level} {n}"));
        assert_eq!(has("outer"), has("inner"), "{n}");
    }
}

#[test]
fn a_share_that_is_none_is_refused() {
    for share in [-0.1, 1.1, f64::NAN] {
        let settings = builder().sample(share);
        let refused = settings.transport(Arc::new(Script::default())).unwrap_err();
        assert!(refused.to_string().contains("`sample`"), "{refused}");
    }
}
