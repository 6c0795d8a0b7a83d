//! Every page, light and dark, on a screen and on a phone: pictures, accessibility, no request to others.

use serde_json::Value;

use crate::demo::Demo;
use crate::driver::Browser;
use crate::many_runs;

/// axe-core: see `axe/LICENSE`.
const AXE: &str = include_str!("axe/axe.min.js");

const PAGES: [(&str, &str); 9] = [
    ("review", "review"),
    ("traces", "traces"),
    ("memories", "memories"),
    ("memories?q=cancel+a+flight", "memory-search"),
    ("report", "report-early"),
    ("keys", "keys"),
    ("settings", "settings"),
    ("undo", "undo"),
    ("traces?q=nothing-like-it", "no-trace"),
];

#[tokio::test]
#[ignore = "needs Chromium: cargo xtask test browser"]
async fn browser_every_page_is_accessible_and_asks_no_other_host() {
    let (demo, browser) = (Demo::start(), Browser::open().await);
    browser.go(&format!("{}/sign-in", demo.url)).await;
    check(&browser, "sign-in").await;
    browser.go(&demo.link).await;
    browser.go(&demo.at("traces")).await;
    let trace = browser
        .run("return document.querySelector('td.grow a').getAttribute('href')")
        .await;
    browser.go(&demo.at("memories")).await;
    let memory = browser
        .run("return document.querySelector('.mem a').getAttribute('href')")
        .await;
    let further = [(trace, "trace"), (memory, "memory-page")];
    let further = further
        .iter()
        .map(|(path, name)| (format!("{}{}", demo.url, path.as_str().unwrap()), *name));
    let pages: Vec<_> = PAGES
        .iter()
        .map(|(path, name)| (demo.at(path), *name))
        .chain(further)
        .collect();
    for (width, height, device) in [(1400, 900, "screen"), (390, 844, "phone")] {
        browser.resize(width, height).await;
        for scheme in ["light", "dark"] {
            browser.scheme(scheme).await;
            for (url, name) in &pages {
                browser.go(url).await;
                check(&browser, &format!("{name}-{device}-{scheme}")).await;
            }
        }
    }
    // With enough runs to say something, as pictures of another bank would show it.
    many_runs::import(&demo).await;
    for (width, height, device) in [(1400, 1200, "screen"), (390, 844, "phone")] {
        browser.resize(width, height).await;
        for scheme in ["light", "dark"] {
            browser.scheme(scheme).await;
            browser.go(&demo.at("report")).await;
            check(&browser, &format!("report-{device}-{scheme}")).await;
        }
    }
    assert!(browser.text().await.contains("Yes. Runs with memories"));
}

async fn check(browser: &Browser, name: &str) {
    browser.picture(name).await;
    let overflow =
        "return document.documentElement.scrollWidth - document.documentElement.clientWidth";
    assert_eq!(
        browser.run(overflow).await,
        0,
        "{name} is wider than the window"
    );
    let others = "return performance.getEntriesByType('resource').map((entry) => entry.name)\
                  .filter((name) => !name.startsWith(location.origin))";
    assert_eq!(browser.run(others).await, serde_json::json!([]), "{name}");
    if name.ends_with("phone-dark") {
        // Its colours were checked on a screen, and its layout in the light.
        assert_eq!(browser.errors().await, [""; 0], "{name}");
        return;
    }
    let script = format!(
        "{AXE}; const done = arguments[arguments.length - 1]; \
         axe.run({{resultTypes: ['violations']}}).then((found) => done(found.violations.map((one) => \
         ({{id: one.id, impact: one.impact, nodes: one.nodes.map((node) => node.html + ' ' + node.failureSummary)}}))))"
    );
    let found = browser
        .page
        .execute_async(&script, Vec::new())
        .await
        .unwrap();
    let serious: Vec<&Value> = found
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["impact"] == "serious" || one["impact"] == "critical")
        .collect();
    assert!(serious.is_empty(), "{name}: {serious:#?}");
    assert_eq!(browser.errors().await, [""; 0], "{name}");
}
