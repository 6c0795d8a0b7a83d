//! The report.

use reflect_types::{
    Arm, CreateTrace, GetReport, ProjectId, Review, Reviewer, TraceId, Usage, Verdict,
};

use super::*;

async fn run(service: &Service, arm: Option<Arm>, pass: bool) -> TraceId {
    let (engine, project) = (service.app.engine(), ProjectId::from(PROJECT));
    let mut trace = CreateTrace::new("Refund order 7", "done");
    trace.usage = (arm == Some(Arm::Memories)).then(|| Usage::new(1_240, 310));
    trace.arm = arm;
    let stored = engine.create_trace(&project, trace).await.unwrap().trace_id;
    let verdict = if pass { Verdict::Pass } else { Verdict::Fail };
    let review = Review::new(verdict);
    engine
        .review_trace(&project, &stored, review)
        .await
        .unwrap();
    stored
}

async fn page(service: &Service) -> String {
    let key = service.key(PROJECT, &[Scope::TraceRead]).await;
    let browser = Browser::sign_in(service, &key).await;
    browser.page(&format!("/p/{PROJECT}/report")).await
}

#[tokio::test]
async fn a_report_says_what_is_missing_instead_of_a_number() {
    let service = Service::start().await;
    assert!(page(&service).await.contains("Send a first run"));
    run(&service, None, true).await;
    let without_arm = page(&service).await;
    assert!(without_arm.contains("Not measured"), "{without_arm}");
    run(&service, Some(Arm::Memories), true).await;
    run(&service, Some(Arm::Control), false).await;
    let early = page(&service).await;
    assert!(early.contains("Too early"), "{early}");
    assert!(early.contains("not enough runs yet: about "), "{early}");
    assert!(
        !early.contains("<svg class=\"plot"),
        "three runs are no plot"
    );
}

#[tokio::test]
async fn a_report_shows_the_difference_its_interval_and_a_plot_in_words() {
    let service = Service::start().await;
    for n in 0..25 {
        run(&service, Some(Arm::Memories), n < 22).await;
        run(&service, Some(Arm::Control), n < 5).await;
    }
    let judged = run(&service, None, true).await;
    let (engine, project) = (service.app.engine(), ProjectId::from(PROJECT));
    engine.withdraw_review(&project, &judged).await.unwrap();
    let by_model = Review {
        reviewer: Reviewer::model("m<b>"),
        ..Review::pass()
    };
    engine
        .review_trace(&project, &judged, by_model)
        .await
        .unwrap();
    let report = engine.report(&project, &GetReport::default()).await;
    let difference = report.unwrap().people.difference.unwrap();
    let page = page(&service).await;
    let value = format!("{:+.1} pts", difference.value * 100.0);
    assert!(page.contains(&value) && value == "+68.0 pts", "{page}");
    assert!(
        page.contains("Yes. Runs with memories pass more often"),
        "{page}"
    );
    assert!(
        page.contains("Pass rate with memories: 88\u{a0}% since "),
        "{page}"
    );
    assert!(page.contains("88\u{a0}% (70 to 96) of 25"), "{page}");
    assert!(page.contains("1,240 in, 310 out of 25"), "{page}");
    assert!(page.contains("m&#60;b&#62;"), "the judge, as text: {page}");
    let whole = page.replace("<svg class=\"plot", "");
    assert_eq!(page.len() - whole.len(), 2 * "<svg class=\"plot".len());
}
