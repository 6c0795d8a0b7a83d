//! Answers that have to be JSON.

use reflect_models::{Client, Error};
use serde::Deserialize;

use super::{prompt, quick, say, server};

#[derive(Debug, Deserialize)]
struct Advice {
    lesson: String,
}

async fn lesson(client: &Client) -> reflect_models::Result<String> {
    let asked = client.complete_json(prompt(), |lesson: &Advice| match lesson.lesson.as_str() {
        "" => Err("`lesson` is empty".to_owned()),
        _ => Ok(()),
    });
    asked.await.map(|lesson| lesson.lesson)
}

#[tokio::test]
async fn an_unusable_answer_is_requested_again_with_the_reason() {
    let server = server([
        say("{\"lesson\": \"as"),
        say(r#"{"lesson": ""}"#),
        say("```json\n{\"lesson\": \"ask first\",}\n```"),
    ])
    .await;
    let client = quick(&server).build().unwrap();
    assert_eq!(lesson(&client).await.unwrap(), "ask first");
    let asked = server.asked();
    assert_eq!(asked[0].body["response_format"]["type"], "json_object");
    assert!(asked[1].text().contains("the JSON object is cut off"));
    assert!(asked[2].text().contains("`lesson` is empty"));
}

#[tokio::test]
async fn unusable_answers_end_in_the_last_problem() {
    let acts = [say("Ich kann kein JSON."), say(r#"{"lektion": "frag"}"#)];
    let server = server(acts.into_iter().chain([say("Nein.")])).await;
    let client = quick(&server).build().unwrap();
    let error = lesson(&client).await.unwrap_err();
    assert!(
        matches!(error, Error::Unusable { attempts: 3, .. }),
        "{error}"
    );
    assert!(
        error.to_string().contains("no JSON object in `Nein.`"),
        "{error}"
    );
    assert!(!error.is_retryable());
}
