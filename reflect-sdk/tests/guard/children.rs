//! Programs that the tests in `processes` run, each in a process of its own.

use std::process;
use std::sync::Arc;
use std::thread;

use reflect_sdk::{Error, ReflectClient, TraceOutput};

use crate::LIMIT;
use crate::disk::all_on_disk;
use crate::script::{Script, builder, client};
use crate::visibility::Log;

fn url() -> String {
    std::env::var("REFLECT_TEST_URL").unwrap()
}

fn remote() -> ReflectClient {
    builder().http(url(), "key").unwrap()
}

fn spooling() -> ReflectClient {
    let folder = std::env::var("REFLECT_TEST_FOLDER").unwrap();
    builder().spool(folder).http(url(), "key").unwrap()
}

/// A key that must not appear in any log.
pub(crate) const SECRET: &str = "rf_live_abc123_secret456";

/// Ends a run; returns its ID.
fn end_one(client: &ReflectClient) -> String {
    let run = client.trace("task").no_retrieval().start_blocking();
    run.set_output(TraceOutput::new("done"));
    run.context().run_id().to_owned()
}

/// The number of I/O threads of this process.
fn io_threads() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let names = tasks.filter_map(|task| {
        // A thread may end while we look.
        std::fs::read_to_string(task.ok()?.path().join("comm")).ok()
    });
    names.filter(|name| name.trim() == "reflect-io").count()
}

#[test]
#[ignore = "a part of another test"]
fn ends_right_after_a_drop() {
    end_one(&remote());
}

#[test]
#[ignore = "a part of another test"]
fn ends_with_an_installed_client() {
    let _flush = remote().install();
    end_one(&ReflectClient::global().unwrap());
}

#[test]
#[ignore = "a part of another test"]
fn exits_with_an_installed_client() {
    std::mem::forget(remote().install());
    end_one(&ReflectClient::global().unwrap());
    process::exit(0);
}

#[test]
#[ignore = "a part of another test"]
fn exits_inside_a_runtime() {
    std::mem::forget(remote().install());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        end_one(&ReflectClient::global().unwrap());
        process::exit(0);
    });
}

#[test]
#[ignore = "a part of another test"]
fn aborts_with_a_spool() {
    let client = spooling();
    end_one(&client);
    all_on_disk(&client);
    process::abort();
}

/// A panic ends this process, as it does where panics abort.
fn abort_on_panic() {
    std::panic::set_hook(Box::new(|_| process::abort()));
}

#[test]
#[ignore = "a part of another test"]
fn aborts_on_a_panic_with_an_open_guard() {
    abort_on_panic();
    let client = builder().flush_on_panic(true).http(url(), "key").unwrap();
    end_one(&client);
    let run = client.trace("guard").no_retrieval().start_blocking();
    run.set_output(TraceOutput::new("did a lot").pass());
    panic!("the end");
}

#[test]
#[ignore = "a part of another test"]
fn aborts_on_a_panic_where_the_guard_was_used_last() {
    abort_on_panic();
    let client = builder().flush_on_panic(true).http(url(), "key").unwrap();
    let run = client.trace("moved").no_retrieval().start_blocking();
    let left = client.trace("left").no_retrieval().start_blocking();
    let elsewhere = thread::spawn(move || {
        run.record(reflect_sdk::Message::assistant("step 1"));
        panic!("the end");
    });
    let _ = elsewhere.join();
    drop(left);
}

#[test]
#[ignore = "a part of another test"]
fn aborts_on_a_panic_in_a_future() {
    abort_on_panic();
    let client = builder().flush_on_panic(true).http(url(), "key").unwrap();
    let elsewhere = client.clone();
    let other = thread::spawn(move || elsewhere.trace("other").no_retrieval().start_blocking());
    let other = other.join().unwrap();
    let beside = client.clone();
    let sibling = async move {
        let run = beside.trace("sibling").no_retrieval();
        run.run_async(async |_| std::future::pending::<String>().await)
            .await
    };
    let run = client
        .trace("future")
        .no_retrieval()
        .run_async(async |ctx| {
            ctx.record(reflect_sdk::Message::assistant("step 1"));
            tokio::task::yield_now().await;
            panic!("the end");
            #[expect(unreachable_code, reason = "it gives the closure its type")]
            String::new()
        });
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .build()
        .unwrap();
    let _ = runtime.block_on(runtime.spawn(async { tokio::join!(sibling, run) }));
    drop(other);
}

#[test]
#[ignore = "a part of another test"]
fn logs_all_that_goes_wrong() {
    let log = Log::of_everything();
    // Of all threads, that of the client among them.
    tracing::subscriber::set_global_default(log.clone()).unwrap();
    let client = builder().http(url(), SECRET).unwrap();
    let run = client.trace("task").until_learned(true).start_blocking();
    assert!(run.retrieval_error().is_some());
    run.set_output(TraceOutput::new("done").pass());
    drop(run);
    assert!(client.blocking().health().call().is_err());
    assert_eq!(client.blocking().flush(LIMIT).failed, 1);
    let told = format!("{log:?} {:?}", client.stats());
    for expected in ["retrying", "starts without memories", "was not recorded"] {
        assert!(told.contains(expected), "{expected}: {told}");
    }
    // Any part of it would be too much.
    assert!(
        !told.contains("secret") && !told.contains("abc123"),
        "{told}"
    );
}

#[test]
#[ignore = "a part of another test"]
fn spools_until_it_is_killed() {
    println!("begins");
    let client = spooling();
    loop {
        let run = end_one(&client);
        all_on_disk(&client);
        println!("ended {run}");
    }
}

#[test]
#[ignore = "a part of another test"]
fn forks() {
    let client = remote();
    // The thread and a connection exist when the process forks.
    end_one(&client);
    assert!(client.blocking().flush(LIMIT).all_sent());
    let open = client.trace("task").no_retrieval().start_blocking();
    #[expect(unsafe_code, reason = "there is no safe way to fork")]
    // SAFETY: the child uses only what is safe after a fork of this process, which is the point.
    let child = unsafe { libc::fork() };
    if child == 0 {
        end_one(&client);
        let health = client.blocking().health().call();
        open.set_output(TraceOutput::new("done"));
        let shared = open.finish_blocking(LIMIT);
        let stats = client.blocking().flush(LIMIT);
        drop(client);
        let forked = |result| matches!(result, Err(Error::Forked));
        let told = forked(health.map(drop)) && forked(shared.map(drop));
        let code = i32::from(!(told && stats.failed == 2 && stats.pending == 0));
        #[expect(
            unsafe_code,
            reason = "a forked child must not run its parent's clean-up"
        )]
        // SAFETY: it ends the process at once.
        unsafe {
            libc::_exit(code)
        }
    }
    open.set_output(TraceOutput::new("done"));
    drop(open);
    end_one(&client);
    assert!(client.blocking().flush(LIMIT).all_sent());
    let mut status = -1;
    #[expect(
        unsafe_code,
        reason = "the standard library only waits for its own children"
    )]
    // SAFETY: `status` outlives the call.
    let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert_eq!((waited, status), (child, 0));
}

#[test]
#[ignore = "a part of another test"]
fn makes_and_drops_clients() {
    thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| {
                let script = Arc::new(Script::default());
                let client = client(&script);
                end_one(&client);
                // A panic looks at all clients, and must not hold on to any.
                let _ = std::panic::catch_unwind(|| panic!("handled"));
                drop(client);
                assert_eq!(script.taken().len(), 1);
            });
        }
    });
    // The threads end in a moment.
    while io_threads() > 0 {
        thread::yield_now();
    }
}

#[test]
#[ignore = "a part of another test"]
fn starts_no_thread() {
    let disabled = ReflectClient::disabled();
    end_one(&disabled);
    disabled.blocking().flush(LIMIT);
    assert!(disabled.blocking().health().call().is_err());
    let unused = remote();
    unused.blocking().flush(LIMIT);
    unused.stats();
    drop(unused.clone());
    assert_eq!(io_threads(), 0);
    end_one(&unused);
    // A thread gets its name when it first runs.
    while io_threads() == 0 {
        thread::yield_now();
    }
}
