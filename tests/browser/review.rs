//! The review queue with the keyboard alone.

use reflect_sdk::{ReflectClient, admin::Admin};

use crate::demo::Demo;
use crate::driver::Browser;

#[tokio::test]
#[ignore = "needs Chromium: cargo xtask test browser"]
async fn browser_ten_runs_are_reviewed_by_keyboard_and_the_last_is_undone() {
    let (demo, browser) = (Demo::start(), Browser::open().await);
    let client = ReflectClient::builder()
        .project("airline")
        .http(&demo.url, &demo.key)
        .unwrap();
    let admin: Admin = client.admin();
    browser.go(&demo.link).await;
    browser
        .until("return location.pathname === '/p/airline/review'")
        .await;

    browser.press("?").await;
    browser
        .until("return document.querySelector('dialog').open")
        .await;
    browser.picture("keys").await;
    browser.press("\u{e00c}").await;
    browser
        .until("return !document.querySelector('dialog').open")
        .await;
    browser.press("jjk").await;
    browser
        .until("return document.querySelector('.msg.at')?.id === 'step-1'")
        .await;

    let open = "document.querySelector('form.act').dataset.trace";
    let skipped = browser.run(&format!("return {open}")).await;
    browser.press("s").await;
    browser.until(&format!("return {open} !== {skipped}")).await;

    let by_people = async || admin.report().await.unwrap().people.all;
    let before = by_people().await;
    for number in 0..10 {
        let now = browser.run(&format!("return {open}")).await;
        if number % 2 == 0 {
            browser.press("p").await;
        } else {
            browser.press("e").await;
            browser
                .until("return document.activeElement.id === 'feedback'")
                .await;
            browser.press("pay by card, then refund\u{e00c}").await;
            browser
                .until("return document.activeElement.id !== 'feedback'")
                .await;
            if number == 1 {
                // Words that were not sent outlive the page.
                browser.run("location.reload()").await;
                browser
                    .until("return document.getElementById('feedback')?.value === 'pay by card, then refund'")
                    .await;
            }
            if number == 9 {
                let utilities = utilities(&client).await;
                browser.press("f").await;
                browser.until(&format!("return {open} !== {now}")).await;
                assert_ne!(utilities, self::utilities(&client).await);
                browser.picture("review-last").await;
                browser.press("u").await;
                browser.until(&format!("return {open} === {now}")).await;
                browser
                    .until("return document.getElementById('notice').textContent === 'Undone.'")
                    .await;
                // The words are there again, to be changed.
                browser
                    .until("return document.getElementById('feedback').value === 'pay by card, then refund'")
                    .await;
                assert_eq!(utilities, self::utilities(&client).await);
                continue;
            }
            browser.press("f").await;
        }
        browser.until(&format!("return {open} !== {now}")).await;
        browser
            .until("return document.activeElement.tagName === 'H1'")
            .await;
        let words = browser
            .run("return document.getElementById('feedback').value")
            .await;
        assert_eq!(words, "");
    }
    let after = by_people().await;
    assert_eq!(after.passed - before.passed, 5);
    assert_eq!(after.failed - before.failed, 4);
    assert_eq!(browser.errors().await, [""; 0]);
}

/// The utilities of all memories, and their uses.
async fn utilities(client: &ReflectClient) -> Vec<(String, f64, u64)> {
    let page = client.list_memories().limit(1_000).await.unwrap();
    let mut utilities: Vec<_> = page
        .iter()
        .map(|history| {
            let memory = &history.memory;
            (memory.id.to_string(), memory.q_value, memory.uses)
        })
        .collect();
    utilities.sort_by(|a, b| a.0.cmp(&b.0));
    utilities
}
