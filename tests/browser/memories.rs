//! Memories: search with sliders, edit, set aside.

use crate::demo::Demo;
use crate::driver::Browser;

#[tokio::test]
#[ignore = "needs Chromium: cargo xtask test browser"]
async fn browser_memories_are_searched_with_sliders_edited_and_set_aside() {
    let (demo, browser) = (Demo::start(), Browser::open().await);
    browser.go(&demo.link).await;
    browser.go(&demo.at("memories")).await;
    browser
        .fill("#q", "cancel a flight and get the money back")
        .await;
    browser
        .until("return document.querySelectorAll('.hit:not(.aside)').length > 0")
        .await;
    assert!(
        browser.text().await.contains("given to"),
        "an explanation of each score"
    );
    browser.picture("search").await;

    // As a hand does: a value, then the event of a moved slider.
    let slide = "const slider = document.querySelector('[name=floor]'); slider.value = '1'; \
                 slider.dispatchEvent(new Event('input', {bubbles: true}));";
    browser.run(slide).await;
    browser
        .until("return document.querySelectorAll('.hit:not(.aside)').length === 0")
        .await;
    assert!(browser.text().await.contains("below the floor of 1.00"));
    let output = browser
        .run("return document.getElementById('floor-value').textContent")
        .await;
    assert_eq!(output, "1.00");
    let search = browser.run("return location.search").await;
    assert!(
        search.as_str().unwrap().contains("floor=1"),
        "the address has the sliders: {search}"
    );

    browser
        .run("document.querySelector('.hit a.cover').click()")
        .await;
    browser
        .until("return location.pathname.split('/').length === 5")
        .await;
    browser.press("e").await;
    browser
        .until("return document.getElementById('edit').open && document.activeElement.id === 'guidance'")
        .await;
    browser
        .fill("#guidance", "Ask for the reason before you cancel.")
        .await;
    browser.click("#edit button.primary").await;
    browser
        .until("return document.body.innerText.includes('Ask for the reason before you cancel.')")
        .await;
    browser
        .until("return document.getElementById('notice').textContent === 'Saved.'")
        .await;
    // A draft of another text than the stored one is shown beside the field.
    let keep = "const id = location.pathname.split('/')[4]; \
                sessionStorage.setItem(`summary of ${id}`, JSON.stringify({base: 'older', text: 'My words.'})); \
                location.reload()";
    browser.run(keep).await;
    browser
        .until("return document.querySelector('.draft')?.textContent.endsWith('My words.')")
        .await;
    let replaced = "return document.getElementById('summary').value === 'My words.'";
    assert_eq!(browser.run(replaced).await, false);
    // The form is open by now: its key leads into it, and does not close it.
    browser.press("e").await;
    browser
        .until("return document.getElementById('edit').open && document.activeElement.id === 'guidance'")
        .await;
    browser.run("document.activeElement.blur()").await;
    browser.press("x").await;
    browser
        .until("return document.querySelector('[value=restore]') !== null")
        .await;
    browser.picture("memory").await;
    browser.go(&demo.at("memories?status=quarantined")).await;
    assert_eq!(
        browser
            .run("return document.querySelectorAll('.mem').length")
            .await,
        1
    );
    assert_eq!(browser.errors().await, [""; 0]);
}

#[tokio::test]
#[ignore = "needs Chromium: cargo xtask test browser"]
async fn browser_similar_memories_are_merged_side_by_side_and_kept_apart_again() {
    let (demo, browser) = (Demo::start(), Browser::open().await);
    browser.go(&demo.link).await;
    browser
        .go(&demo.at("memories?q=cancel+a+flight+and+get+the+money+back"))
        .await;
    browser
        .run("document.querySelector('.hit a.cover').click()")
        .await;
    browser
        .until("return document.querySelector('#similar') !== null")
        .await;
    let merged = "return document.body.innerText.includes('this memory stands')";
    assert_eq!(browser.run(merged).await, false);
    browser.click("#similar summary").await;
    browser
        .until("return document.querySelector('#similar button[name=into]') !== null")
        .await;
    browser.picture("similar").await;
    browser.click("#similar button[name=into]").await;
    browser.until(merged).await;
    browser.click(".compare button[value=restore]").await;
    browser
        .until("return document.body.innerText.includes('restored')")
        .await;
    assert_eq!(browser.errors().await, [""; 0]);
}
