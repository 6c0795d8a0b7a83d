//! An embedded engine does not survive a fork. It has a process to itself.

#![cfg(all(unix, feature = "embedded"))]

use std::time::Duration;

use reflect_sdk::{Error, ReflectClient, TraceOutput};

const LIMIT: Duration = Duration::from_secs(60);

#[test]
fn a_forked_child_gets_a_permanent_error_and_has_nothing_to_flush() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("reflect.db");
    let client = ReflectClient::builder().embedded(path).unwrap().blocking();
    assert!(client.health().call().is_ok());
    #[expect(unsafe_code, reason = "there is no safe way to fork")]
    // SAFETY: the child uses only what is safe after a fork of this process, which is the point.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let refused = matches!(client.health().call(), Err(Error::Forked));
        let run = client.trace("task").no_retrieval().start_blocking();
        run.set_output(TraceOutput::new("done"));
        drop(run);
        let stats = client.flush(LIMIT);
        let code = i32::from(!(refused && (stats.failed, stats.pending) == (1, 0)));
        #[expect(
            unsafe_code,
            reason = "a forked child must not run its parent's clean-up"
        )]
        // SAFETY: it ends the process at once.
        unsafe {
            libc::_exit(code)
        }
    }
    let mut status = -1;
    #[expect(
        unsafe_code,
        reason = "the standard library only waits for its own children"
    )]
    // SAFETY: `status` outlives the call.
    let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert_eq!((waited, status), (child, 0));
    assert!(client.health().call().is_ok(), "the parent goes on");
}
