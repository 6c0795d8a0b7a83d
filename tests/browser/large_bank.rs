//! The pages of a large bank: how long the server takes, and when a page can be used.

use serde_json::Value;

use crate::demo::Demo;
use crate::driver::Browser;

/// The traces of the bank.
const TRACES: &str = "100000";
/// Lists of traces arrive within this time, in milliseconds.
const LIST: f64 = 200.0;
/// Pages can be used within this time, in milliseconds.
const INTERACTIVE: f64 = 300.0;
/// A build without optimization, beside other tests, may take so many times as long.
const UNOPTIMIZED: f64 = 3.0;
/// The best of so many loads counts: the computer may do something else meanwhile.
const LOADS: usize = 5;

const LISTS: [&str; 8] = [
    "traces",
    "traces?q=flight",
    "traces?q=a",
    "traces?q=order+99999",
    "traces?q=cancel&state=failed&model=gpt-4o",
    "traces?state=waiting",
    "traces?state=judged",
    "traces?model=claude-sonnet",
];
const PAGES: [&str; 5] = [
    "review",
    "traces/many-99999",
    "memories",
    "memories?q=cancel+a+flight",
    "report",
];

#[tokio::test]
#[ignore = "needs Chromium: cargo xtask test browser"]
async fn browser_pages_of_a_large_bank_are_quick() {
    let demo = Demo::with(&["--traces", TRACES]);
    let browser = Browser::open().await;
    browser.go(&demo.link).await;
    let factor = if cfg!(debug_assertions) {
        UNOPTIMIZED
    } else {
        1.0
    };
    let mut slow = Vec::new();
    for page in LISTS.iter().chain(&PAGES) {
        let (mut reply, mut interactive) = (f64::MAX, f64::MAX);
        for _ in 0..LOADS {
            browser.go(&demo.at(page)).await;
            let times = browser.run(TIMES).await;
            let time = |name: &str| times[name].as_f64().unwrap();
            reply = reply.min(time("reply"));
            interactive = interactive.min(time("interactive"));
        }
        println!("{page:45} reply {reply:6.1} ms, interactive {interactive:6.1} ms");
        let is_list = LISTS.contains(page);
        if interactive > INTERACTIVE * factor || is_list && reply > LIST * factor {
            slow.push(page);
        }
    }
    assert!(slow.is_empty(), "too slow: {slow:?}");
    let rows = browser.run("return document.querySelectorAll('.figure').length");
    assert_eq!(rows.await, Value::from(4), "the last page is the report");
}

/// The time from the request to the end of the reply, and to the end of the page's scripts.
const TIMES: &str = "const t = performance.getEntriesByType('navigation')[0]; \
     return {reply: t.responseEnd - t.requestStart, interactive: t.domContentLoadedEventEnd}";
