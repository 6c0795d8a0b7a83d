//! Who gave a review is data, whatever the feedback says.

use reflect_sdk::types::{Arm, Conclusion, CreateTrace, ModelVerdict, Reviewer};
use reflect_sdk::{Review, TraceId, Verdict};

use crate::on_every_transport;
use crate::world::World;

on_every_transport!(
    a_judged_review_names_its_model,
    a_person_overrules_a_model_and_its_verdict_stays,
    a_withdrawn_verdict_of_a_model_stays,
    a_report_compares_the_arms_and_the_judge_with_people,
);

fn pending(world: &World) -> TraceId {
    let call = world.client().create_trace("Refund order 7", "Refunded.");
    call.call().unwrap().trace_id
}

fn said(result: Verdict) -> ModelVerdict {
    ModelVerdict {
        model: "gpt".to_owned(),
        result,
    }
}

fn a_judged_review_names_its_model(world: &World) {
    let (client, id) = (world.client(), pending(world));
    let judged = Review::fail("too old").judged_by("gpt");
    let trace = client.review_trace(&id, judged).call().unwrap();
    let review = trace.review.unwrap();
    assert_eq!(review.reviewer, Some(Reviewer::Model("gpt".to_owned())));
    assert_eq!(review.feedback_text.as_deref(), Some("too old"));
    let listed = client.list_traces().call().unwrap();
    assert_eq!(listed.items[0].review, Some(review));
}

fn a_person_overrules_a_model_and_its_verdict_stays(world: &World) {
    let (client, id) = (world.client(), pending(world));
    let judged = || Review::fail("too old").judged_by("gpt");
    client.review_trace(&id, judged()).call().unwrap();
    let person = Review::pass().feedback("it was not");
    let review = client.review_trace(&id, person).call().unwrap().review;
    let review = review.unwrap();
    assert_eq!(review.reviewer, Some(Reviewer::Human));
    assert_eq!(review.overruled, Some(said(Verdict::Fail)));
    assert_eq!(review.feedback_text.as_deref(), Some("it was not"));
    assert!(client.review_trace(&id, judged()).call().is_err());
    assert!(client.change_review(&id, judged()).call().is_err());
}

fn a_withdrawn_verdict_of_a_model_stays(world: &World) {
    let (client, id) = (world.client(), pending(world));
    let judged = Review::pass().judged_by("gpt");
    client.review_trace(&id, judged).call().unwrap();
    let trace = client.withdraw_review(&id).call().unwrap();
    assert_eq!(
        (trace.review, trace.withdrawn_verdict),
        (None, Some(said(Verdict::Pass)))
    );
    let again = client.review_trace(&id, Review::fail("no")).call().unwrap();
    assert_eq!(again.review.unwrap().overruled, Some(said(Verdict::Pass)));
}

fn a_report_compares_the_arms_and_the_judge_with_people(world: &World) {
    let client = world.client();
    let run = |arm: Arm, pass: bool| {
        let mut trace = CreateTrace::new("Refund order 7", "Refunded.");
        trace.arm = Some(arm);
        trace.model = Some("gpt".to_owned());
        let id = client.request(trace).call().unwrap().trace_id;
        let review = Review::new(Verdict::from(pass));
        client.review_trace(&id, review).call().unwrap();
    };
    let empty = client.admin().report().call().unwrap();
    assert_eq!((empty.traces, empty.judges.len()), (0, 0));
    assert_eq!(empty.people.conclusion, Conclusion::NoControlArm);
    for n in 0..20 {
        run(Arm::Memories, n < 18);
        run(Arm::Control, n < 4);
    }
    let id = pending(world);
    let judged = Review::pass().judged_by("judge");
    client.review_trace(&id, judged).call().unwrap();
    let person = Review::fail("too old");
    client.change_review(&id, person).call().unwrap();
    let report = client.admin().report().by("model").call().unwrap();
    assert_eq!((report.traces, report.waiting), (41, 0));
    let people = &report.people;
    assert_eq!(people.conclusion, Conclusion::Helps);
    assert_eq!((people.memories.passed, people.control.passed), (18, 4));
    assert_eq!((people.all.passed, people.all.failed), (22, 19));
    let difference = people.difference.unwrap();
    assert!((difference.value - 0.7).abs() < 1e-9);
    assert!(
        difference.low > 0.4 && difference.high < 0.9,
        "{difference:?}"
    );
    let groups: Vec<_> = report
        .groups
        .iter()
        .map(|group| group.value.as_deref())
        .collect();
    assert_eq!(groups, [Some("gpt"), None]);
    let [judge] = &report.judges[..] else {
        panic!("{:?}", report.judges);
    };
    assert_eq!(
        (judge.judge.as_str(), judge.compared, judge.wrongly_passed),
        ("judge", 1, 1)
    );
    let refused = client.admin().report().by("colour").call().unwrap_err();
    assert!(refused.to_string().contains("`by` must be"), "{refused}");
}
