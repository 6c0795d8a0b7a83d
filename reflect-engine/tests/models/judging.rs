//! A judge that asks a model over HTTP.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use reflect_engine::Engine;
use reflect_engine::model::{Error, Judge, JudgeOutcome};
use reflect_model_server::{Act, ModelServer};
use reflect_types::{Review, ReviewStatus, Trace, TraceId};

use crate::client;
use crate::common::{Home, eventually, project, record, run};

/// A judge that counts the judgements that ended.
struct Counted {
    judge: reflect_models::Judge,
    ended: AtomicUsize,
}

#[async_trait]
impl Judge for Counted {
    fn id(&self) -> &str {
        Judge::id(&self.judge)
    }

    async fn judge(&self, trace: &Trace) -> Result<Option<Review>, Error> {
        Judge::judge(&self.judge, trace).await
    }

    fn observe(&self, _: JudgeOutcome) {
        self.ended.fetch_add(1, Ordering::SeqCst);
    }
}

/// A judge that passes every trace, after these acts.
async fn start(home: &Home, acts: Vec<Act>) -> (Engine, Arc<Counted>, ModelServer) {
    let pass = |_: &_| Act::Say(r#"{"verdict": "pass", "feedback": "Right."}"#.to_owned());
    let server = ModelServer::start(pass).await.unwrap();
    server.first(acts);
    let judge = Arc::new(Counted {
        judge: reflect_models::Judge::new(client(&server)),
        ended: AtomicUsize::new(0),
    });
    let builder = home.builder().judge(Arc::clone(&judge) as Arc<dyn Judge>);
    (builder.start().unwrap(), judge, server)
}

/// Waits until so many judgements have ended and all four workers sleep.
async fn until_ended(home: &Home, judge: &Counted, count: usize) {
    eventually(async || {
        let ended = judge.ended.load(Ordering::SeqCst) >= count;
        (ended && home.clock.sleepers() == 4).then_some(())
    })
    .await;
}

async fn until_reviewed(engine: &Engine, id: &TraceId) {
    eventually(async || {
        let trace = engine.get_trace(&project(), id).await.unwrap();
        (trace.review_status == ReviewStatus::Reviewed).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_pause_that_the_model_asks_for_is_kept() {
    let home = Home::on_sqlite();
    let acts = vec![Act::Status(429, Some(3_600_000))];
    let (engine, judge, server) = start(&home, acts).await;
    let id = record(&engine, run("Refund order 7")).await;
    until_ended(&home, &judge, 1).await;
    record(&engine, run("Refund order 8")).await;
    for _ in 0..5 {
        home.clock.advance(Duration::from_secs(600));
        until_ended(&home, &judge, 1).await;
    }
    assert_eq!(server.asked().len(), 1);
    home.clock.advance(Duration::from_secs(601));
    until_reviewed(&engine, &id).await;
}

#[tokio::test]
async fn a_pause_ends_after_an_hour_even_if_the_model_asks_for_a_day() {
    let home = Home::on_sqlite();
    let acts = vec![Act::Status(429, Some(86_400_000))];
    let (engine, judge, _server) = start(&home, acts).await;
    let id = record(&engine, run("Refund order 7")).await;
    until_ended(&home, &judge, 1).await;
    home.clock.advance(Duration::from_secs(3_601));
    until_reviewed(&engine, &id).await;
}

#[tokio::test]
async fn a_wrong_key_counts_as_no_attempt() {
    let home = Home::on_sqlite();
    let (engine, judge, server) = start(&home, vec![Act::Status(401, None); 6]).await;
    let id = record(&engine, run("Refund order 7")).await;
    for ended in 1..=6 {
        until_ended(&home, &judge, ended).await;
        assert_eq!(server.asked().len(), ended);
        home.clock.advance(Duration::from_secs(300));
    }
    until_reviewed(&engine, &id).await;
}
