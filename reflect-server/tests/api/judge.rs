//! The judge of the engine, and its outcomes in the metrics.

use std::sync::Arc;
use std::time::Duration;

use reflect_engine::Engine;
use reflect_model_server::{Act, ModelRequest, ModelServer};
use reflect_models::{Client, Judge};
use reflect_server::{CountedJudge, Settings};
use serde_json::Value;

use super::support::{Service, at};

/// Fails refunds, passes the rest.
fn strict(asked: &ModelRequest) -> Act {
    let verdict = if asked.text().contains("Refund order 7") {
        "fail"
    } else {
        "pass"
    };
    Act::Say(format!(
        r#"{{"verdict": "{verdict}", "feedback": "because"}}"#
    ))
}

async fn judging(models: &ModelServer) -> Service {
    let client = Client::builder("m").base_url(models.url()).attempts(1);
    let judge = CountedJudge::new(Judge::new(client.build().unwrap()));
    let engine = Engine::builder().judge(Arc::new(judge.clone()));
    let service = Service::of(engine.start().unwrap(), Settings::default()).await;
    let _ = service.app.clone().judging(&judge);
    service
}

/// Polls the metrics until they have this line.
async fn until_counted(service: &Service, line: &str) {
    let wait = async {
        loop {
            let metrics = service.get("/metrics").await.body;
            if metrics.as_str().unwrap().contains(line) {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(30), wait).await;
    waited.unwrap();
}

#[tokio::test]
async fn pending_traces_are_judged_and_counted() {
    let models = ModelServer::start(strict).await.unwrap();
    let service = judging(&models).await;
    let refund = service.trace("Refund order 7").await;
    for n in 0..3 {
        service.trace(&format!("Pay bill {n}")).await;
    }
    until_counted(&service, r#"reflect_judged_total{outcome="pass"} 3"#).await;
    until_counted(&service, r#"reflect_judged_total{outcome="fail"} 1"#).await;
    let trace = service.get(&at(&format!("/traces/{refund}"))).await.body;
    assert_eq!(trace["review"]["reviewer"]["model"], "m");
    // The key that recorded the trace has caused its review.
    assert_eq!(trace["review"]["key_id"], trace["key_id"]);
    assert_ne!(trace["key_id"], Value::Null);
    assert_eq!(models.asked().len(), 4);
}

#[tokio::test]
async fn unclear_opinions_and_failures_are_counted() {
    let models = ModelServer::start(strict).await.unwrap();
    models.first([
        Act::Say(r#"{"verdict": "unclear"}"#.to_owned()),
        Act::Refuse("no".to_owned()),
    ]);
    let service = judging(&models).await;
    for n in 0..2 {
        service.trace(&format!("Pay bill {n}")).await;
    }
    until_counted(&service, r#"reflect_judged_total{outcome="unclear"} 1"#).await;
    until_counted(&service, r#"reflect_judged_total{outcome="error"} 1"#).await;
}
