//! Traces: stored, listed, refused.

use reflect_engine::Engine;
use reflect_types::{
    CreateTrace, ErrorCode, IngestStatus, ListTraces, Message, ProjectId, QueryMemories, Review,
    ReviewStatus, TraceId, Verdict,
};

use crate::common::{Home, authored_run, learn, project, q, record, run};
use crate::on_every_store;

on_every_store! {
    an_authored_reflection_becomes_a_memory_immediately,
    concurrent_submissions_with_one_key_store_one_trace,
    the_final_response_defaults_to_the_last_assistant_message,
    traces_are_listed_in_pages,
    an_invalid_request_names_its_field,
    unknown_ids_are_not_found,
}

async fn an_authored_reflection_becomes_a_memory_immediately(home: &Home) {
    let engine = home.engine();
    let given = learn(&engine, run("Refund a table"), Verdict::Pass).await;
    let calls = home.reflector.calls();
    let trace = CreateTrace {
        retrieved_memory_ids: vec![given.clone()],
        ..authored_run("Refund a lamp")
    };
    let receipt = engine.create_trace(&project(), trace).await.unwrap();
    assert_eq!(receipt.ingest_status, IngestStatus::Completed);
    let trace = engine
        .get_trace(&project(), &receipt.trace_id)
        .await
        .unwrap();
    assert_eq!(trace.review_status, ReviewStatus::Reviewed);
    let id = trace.created_memory_id.unwrap();
    let memory = engine.get_memory(&project(), &id).await.unwrap().memory;
    assert_eq!(memory.reflection.summary, "Refunds need a receipt");
    assert_eq!(memory.reflection.applicable_tools, ["refund"]);
    assert_eq!(home.reflector.calls(), calls, "no reflector is needed");
    assert!((q(&engine, &given).await - 0.65).abs() < 1e-12);
}

async fn concurrent_submissions_with_one_key_store_one_trace(home: &Home) {
    let engine = home.engine();
    home.reflector.hold();
    let mut sending = tokio::task::JoinSet::new();
    for n in 0..16 {
        let engine = engine.clone();
        sending.spawn(async move {
            let trace = CreateTrace {
                idempotency_key: Some("the-key".to_owned()),
                review: Some(Review::pass()),
                ..run(&format!("Pay bill {n}"))
            };
            engine.create_trace(&project(), trace).await.unwrap()
        });
    }
    let receipts = sending.join_all().await;
    assert!(receipts.iter().all(|receipt| *receipt == receipts[0]));
    assert_eq!(receipts[0].ingest_status, IngestStatus::Queued);
    assert_eq!(engine.stats(&project()).await.unwrap().traces, 1);
}

async fn the_final_response_defaults_to_the_last_assistant_message(home: &Home) {
    let engine = home.engine();
    let steps = vec![
        Message::user("hi"),
        Message::assistant("first"),
        Message::assistant("last"),
    ];
    let id = record(&engine, CreateTrace::new("t", steps)).await;
    assert_eq!(
        engine
            .get_trace(&project(), &id)
            .await
            .unwrap()
            .final_response,
        "last"
    );
    let explicit = CreateTrace {
        final_response: Some("given".to_owned()),
        ..run("t")
    };
    let id = record(&engine, explicit).await;
    assert_eq!(
        engine
            .get_trace(&project(), &id)
            .await
            .unwrap()
            .final_response,
        "given"
    );
    let silent = CreateTrace::new("t", vec![Message::user("hi")]);
    let id = record(&engine, silent).await;
    assert_eq!(
        engine
            .get_trace(&project(), &id)
            .await
            .unwrap()
            .final_response,
        ""
    );
}

async fn traces_are_listed_in_pages(home: &Home) {
    let engine = home.engine();
    let mut ids = Vec::new();
    for n in 0..5 {
        ids.push(record(&engine, run(&format!("Task {n}"))).await);
    }
    ids.reverse();
    let (mut seen, mut before) = (Vec::new(), None);
    loop {
        let list = ListTraces {
            limit: Some(2),
            before,
            ..ListTraces::default()
        };
        let page = engine.list_traces(&project(), &list).await.unwrap();
        before = page.cursor().map(|trace| trace.id.clone());
        seen.extend(page.into_iter().map(|trace| trace.id));
        if before.is_none() {
            break;
        }
    }
    assert_eq!(seen, ids);
}

async fn an_invalid_request_names_its_field(home: &Home) {
    let engine = home.engine();
    let query = QueryMemories {
        limit: 0,
        ..QueryMemories::new("t")
    };
    let error = engine.query_memories(&project(), &query).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidField);
    assert_eq!(error.body().field.as_deref(), Some("limit"));
    let blank = engine.create_trace(&project(), run(" ")).await.unwrap_err();
    assert_eq!(blank.body().field.as_deref(), Some("task"));
    let keyless = engine
        .create_trace(
            &project(),
            CreateTrace {
                idempotency_key: Some(String::from(" ")),
                ..run("t")
            },
        )
        .await
        .unwrap_err();
    assert_eq!(keyless.body().field.as_deref(), Some("Idempotency-Key"));
    let nameless = engine.stats(&ProjectId::from("")).await.unwrap_err();
    assert_eq!(nameless.body().field.as_deref(), Some("project_id"));
    let id = record(&engine, run("t")).await;
    let wild = engine
        .review_trace(&project(), &id, Review::pass().alpha(2.0))
        .await
        .unwrap_err();
    assert_eq!(wild.body().field.as_deref(), Some("alpha"));
    let wild = Engine::builder().alpha(f64::NAN).start().unwrap_err();
    assert_eq!(wild.body().field.as_deref(), Some("alpha"));
}

async fn unknown_ids_are_not_found(home: &Home) {
    let engine = home.engine();
    let absent = TraceId::from("absent");
    let p = project();
    let errors = [
        engine.get_trace(&p, &absent).await.unwrap_err(),
        engine
            .review_trace(&p, &absent, Review::pass())
            .await
            .unwrap_err(),
        engine
            .change_review(&p, &absent, Review::pass())
            .await
            .unwrap_err(),
        engine.withdraw_review(&p, &absent).await.unwrap_err(),
        engine.retry_trace(&p, &absent).await.unwrap_err(),
        engine.get_memory(&p, &"absent".into()).await.unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.code(), ErrorCode::NotFound, "{error}");
        assert!(error.to_string().contains("`absent`"), "{error}");
    }
    assert_eq!(engine.get_skill(&p).await.unwrap(), None);
    assert!(!engine.delete_project(&p).await.unwrap().deleted);
    let page = engine
        .list_traces(&p, &ListTraces::default())
        .await
        .unwrap();
    assert_eq!((page.items.len(), page.more), (0, false));
}
