//! Guards work wherever Rust code can be.

use std::cell::RefCell;
use std::future::IntoFuture;
use std::mem;
use std::panic::{RefUnwindSafe, UnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, mpsc};
use std::thread;

use reflect_sdk::{
    BlockingClient, FlushGuard, Message, ReflectClient, TraceBuilder, TraceContext, TraceGuard,
    TraceHandle, TraceOutput, TraceResult,
};
use tokio::runtime::Builder;

use crate::LIMIT;
use crate::script::{Script, client};

#[test]
fn guards_and_what_belongs_to_them_can_be_sent_and_shared() {
    fn shareable<T: Send + Sync + 'static>() {}
    fn sendable<T: Send + 'static>(_: T) {}
    shareable::<TraceGuard>();
    shareable::<TraceContext>();
    shareable::<TraceHandle>();
    let client = client(&Arc::new(Script::default()));
    sendable(client.trace("task").into_future());
    sendable(client.trace("task").strict().into_future());
    sendable(
        client
            .trace("task")
            .run_async(async |ctx| ctx.task().to_owned()),
    );
}

#[test]
fn clients_and_guards_may_be_used_around_a_panic_that_is_caught() {
    fn unaffected<T: UnwindSafe + RefUnwindSafe>() {}
    unaffected::<ReflectClient>();
    unaffected::<BlockingClient>();
    unaffected::<FlushGuard>();
    unaffected::<TraceBuilder>();
    unaffected::<TraceGuard>();
    unaffected::<TraceContext>();
    unaffected::<TraceHandle>();
    unaffected::<TraceOutput>();
    unaffected::<TraceResult>();

    let script = Arc::new(Script::default());
    let client = client(&script);
    let run = client.trace("around").start_blocking();
    let caught = catch_unwind(|| {
        run.record(Message::assistant("before"));
        client
            .trace("within")
            .run(|_| -> String { resume_unwind(Box::new("broken")) })
    });
    assert!(caught.is_err());
    run.record(Message::assistant("after"));
    run.set_output(TraceOutput::recorded().pass());
    drop(run);
    client.blocking().flush(LIMIT);
    let [within, around] = &script.taken()[..] else {
        panic!("two runs expected");
    };
    assert_eq!((&*within.task, &*around.task), ("within", "around"));
    let noted = vec![Message::assistant("before"), Message::assistant("after")];
    assert_eq!(around.trajectory, noted.into());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guard_may_be_held_across_awaits_and_dropped_on_another_thread() {
    let script = Arc::new(Script::default());
    let client = client(&script);
    let tasks: Vec<_> = (0..20)
        .map(|number| {
            let client = client.clone();
            tokio::spawn(async move {
                let task = format!("task {number}");
                let run = client.trace(&task).await;
                tokio::task::yield_now().await;
                assert_eq!(run.task(), task);
                run.set_output(TraceOutput::new(run.task()));
                thread::spawn(move || drop(run)).join().unwrap();
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert!(client.flush(LIMIT).await.all_sent());
    let traces = script.taken();
    assert_eq!(traces.len(), 20);
    for trace in traces {
        assert_eq!(trace.trajectory, trace.task.as_str().into());
    }
}

#[tokio::test]
async fn branches_of_a_join_can_share_a_guard() {
    let script = Arc::new(Script::default());
    let run = client(&script).trace("task").await;
    tokio::join!(
        async { run.record(reflect_sdk::Message::user("a")) },
        async { run.set_output(TraceOutput::recorded()) },
    );
    run.finish().await.unwrap();
    assert_eq!(script.taken().len(), 1);
}

#[test]
fn a_guard_may_be_kept_in_a_struct_and_moved_through_a_channel() {
    struct Agent {
        run: TraceGuard,
    }
    let script = Arc::new(Script::default());
    let client = client(&script);
    let (agents, receiver) = mpsc::channel();
    agents
        .send(Agent {
            run: client.trace("task").start_blocking(),
        })
        .unwrap();
    let second_node = thread::spawn(move || {
        let agent = receiver.recv().unwrap();
        agent.run.set_output(TraceOutput::new("done"));
    });
    second_node.join().unwrap();
    assert!(client.blocking().flush(LIMIT).all_sent());
    assert_eq!(script.taken().len(), 1);
}

#[test]
fn a_guard_may_be_dropped_while_its_thread_ends() {
    thread_local! {
        static KEPT: RefCell<Option<TraceGuard>> = const { RefCell::new(None) };
    }
    for (blocking, last_handle) in [(false, false), (true, false), (false, true), (true, true)] {
        let script = Arc::new(Script::default());
        let client = client(&script);
        let kept = (!last_handle).then(|| client.clone());
        thread::spawn(move || {
            let run = client
                .trace("task")
                .until_learned(blocking)
                .start_blocking();
            run.set_output(TraceOutput::new("done").pass());
            KEPT.set(Some(run));
        })
        .join()
        .unwrap();
        if let Some(client) = kept {
            assert!(client.blocking().flush(LIMIT).all_sent());
        }
        assert_eq!(script.taken().len(), 1);
    }
}

#[test]
fn a_guard_may_outlive_the_runtime_that_made_it() {
    let script = Arc::new(Script::default());
    let client = client(&script);
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let run = runtime.block_on(client.trace("task").into_future());
    drop(runtime);
    run.set_output(TraceOutput::new("done"));
    drop(run);
    assert!(client.blocking().flush(LIMIT).all_sent());
    assert_eq!(script.taken().len(), 1);
}

#[test]
fn runtimes_that_come_and_go_share_one_client() {
    let script = Arc::new(Script::default());
    let client = client(&script);
    let one_run = || async {
        let run = client.trace("task").await;
        run.set_output(TraceOutput::new("done"));
        run.finish().await.unwrap();
    };
    let idle = Builder::new_current_thread().enable_all().build().unwrap();
    idle.block_on(one_run());
    for _ in 0..3 {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .build()
            .unwrap();
        runtime.block_on(one_run());
        idle.block_on(one_run());
    }
    pollster::block_on(one_run());
    assert_eq!(script.taken().len(), 8);
}

#[test]
fn a_forgotten_guard_submits_nothing_and_holds_nothing_up() {
    let script = Arc::new(Script::default());
    let client = client(&script);
    for _ in 0..20 {
        let run = client.trace("forgotten").start_blocking();
        run.set_output(TraceOutput::new("done"));
        mem::forget(run);
    }
    let run = client.trace("task").start_blocking();
    run.set_output(TraceOutput::new("done"));
    drop(run);
    assert!(client.blocking().flush(LIMIT).all_sent());
    assert_eq!(script.taken().len(), 1);
}

#[test]
fn a_guard_that_ends_on_the_io_thread_does_not_wait_for_itself() {
    let script = Arc::new(Script::default());
    let client = client(&script);
    let run = client.trace("task").until_learned(true).start_blocking();
    run.set_output(TraceOutput::new("done").pass());
    let other = client.trace("task").start_blocking();
    other.set_output(TraceOutput::new("done"));
    // The transport drops the one and finishes the other while it is asked for memories.
    script.errands.lock().unwrap().push(Box::new(move || {
        drop(run);
        let refused = other.finish_blocking(LIMIT).unwrap_err();
        assert!(
            matches!(refused, reflect_sdk::Error::WouldDeadlock),
            "{refused}"
        );
    }));
    client.trace("errand").start_blocking().discard();
    assert!(client.blocking().flush(LIMIT).all_sent());
    assert_eq!(script.taken().len(), 2);
}
