//! Signing in and out, and a trace that attacks.

use reflect_sdk::{Message, ReflectClient, Review};

use crate::demo::Demo;
use crate::driver::Browser;

#[tokio::test]
#[ignore = "needs Chromium: cargo xtask test browser"]
async fn browser_a_key_signs_in_and_out() {
    let (demo, browser) = (Demo::start(), Browser::open().await);
    browser.go(&demo.at("traces?q=flight")).await;
    browser.fill("#key", "rf_live_wrong").await;
    browser.click("button.primary").await;
    browser
        .until("return document.querySelector('[role=alert]') !== null")
        .await;
    browser.errors().await;
    browser.fill("#key", &demo.key).await;
    browser.click("button.primary").await;
    browser
        .until("return location.pathname + location.search === '/p/airline/traces?q=flight'")
        .await;
    browser.click("header form button").await;
    browser
        .until("return location.pathname === '/sign-in'")
        .await;
    browser.go(&demo.at("review")).await;
    browser
        .until("return location.pathname === '/sign-in'")
        .await;
    assert_eq!(browser.errors().await, [""; 0]);
}

#[tokio::test]
#[ignore = "needs Chromium: cargo xtask test browser"]
async fn browser_a_hostile_trace_is_shown_as_text() {
    let (demo, browser) = (Demo::start(), Browser::open().await);
    let hostile = "<script>window.owned=1</script>\"'><img src=x onerror=window.owned=1>\u{202e}dia\u{1b}[31m{{7*7}}";
    let client = ReflectClient::builder()
        .project("airline")
        .http(&demo.url, &demo.key)
        .unwrap();
    let stored = client
        .create_trace(
            hostile,
            vec![Message::user(hostile), Message::tool(hostile, hostile)],
        )
        .model(hostile)
        .metadata("x", hostile)
        .await
        .unwrap();
    let id = &stored.trace_id;
    browser.go(&demo.link).await;
    let trace = format!("traces/{id}");
    let review = format!("review?trace={id}");
    for path in ["traces", &trace, "review", &review] {
        browser.go(&demo.at(path)).await;
        let text = browser.text().await;
        assert!(
            text.contains("<script>window.owned=1</script>"),
            "{path}: {text}"
        );
        assert!(
            text.contains("⟨U+202E⟩") && text.contains("{{7*7}}"),
            "{path}: {text}"
        );
        assert!(
            browser.run("return window.owned ?? null").await.is_null(),
            "{path}"
        );
    }
    browser.go(&demo.at(&trace)).await;
    browser.click("details[hx-get] summary").await;
    browser
        .until("return document.querySelector('.into pre')?.innerText.includes('window.owned')")
        .await;
    assert!(browser.run("return window.owned ?? null").await.is_null());
    browser.picture("hostile").await;

    let review = Review::fail(hostile);
    client.review_trace(id.clone(), review).await.unwrap();
    let reviewed = client.get_trace(id.clone()).await.unwrap();
    let learned = reviewed.created_memory_id;
    let memory = format!("memories/{}", learned.unwrap());
    for path in ["memories", "memories?q=script", &memory, &trace] {
        browser.go(&demo.at(path)).await;
        assert!(
            browser.run("return window.owned ?? null").await.is_null(),
            "{path}"
        );
    }
    browser.go(&demo.at(&memory)).await;
    assert!(browser.text().await.contains("window.owned=1"));
    assert_eq!(browser.errors().await, [""; 0]);
}
