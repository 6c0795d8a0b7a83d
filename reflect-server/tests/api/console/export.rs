//! The download of a project.

use reflect_types::{BundleEnding, BundleHeading, Piece, ProjectId};

use super::*;

#[tokio::test]
async fn a_download_is_the_whole_project_and_can_be_imported() {
    let service = Service::start().await;
    // More than a page.
    for n in 0..60 {
        let id = service.trace(&format!("Refund order {n}")).await;
        if n % 10 == 0 {
            let review = json!({"result": "fail", "feedback_text": "Too\nlate"});
            service
                .post(&at(&format!("/traces/{id}/review")), review)
                .await;
        }
    }
    let key = service
        .key(PROJECT, &[Scope::ProjectAdmin, Scope::TraceRead])
        .await;
    let browser = Browser::sign_in(&service, &key).await;
    let answer = browser.get(&format!("/p/{PROJECT}/export")).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(
        answer.headers[header::CONTENT_DISPOSITION],
        format!("attachment; filename=\"reflect-{PROJECT}.jsonl\"")
    );
    let lines: Vec<&str> = answer.body.as_str().unwrap().lines().collect();
    let heading: BundleHeading = serde_json::from_str(lines[0]).unwrap();
    assert_eq!(heading.project.as_str(), PROJECT);
    let BundleEnding::End(counts) = serde_json::from_str(lines[lines.len() - 1]).unwrap();
    assert_eq!((counts.traces, counts.memories), (60, 6));
    let pieces: Vec<Piece> = lines[1..lines.len() - 1]
        .iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let engine = service.app.engine();
    let copy = ProjectId::from("copy");
    let imported = engine.import(&copy, pieces).await.unwrap();
    assert_eq!(imported.stored, 66);
    let (original, copied) = (
        engine.stats(&ProjectId::from(PROJECT)).await.unwrap(),
        engine.stats(&copy).await.unwrap(),
    );
    assert_eq!(original, copied);
}

#[tokio::test]
async fn a_download_needs_the_scope_of_an_export() {
    let service = Service::start().await;
    service.trace("t").await;
    let key = service.key(PROJECT, &[Scope::TraceRead]).await;
    let browser = Browser::sign_in(&service, &key).await;
    let answer = browser.get(&format!("/p/{PROJECT}/export")).await;
    assert_eq!(answer.status, 403, "{answer:?}");
}
