//! The options of the query as one value.

use reflect_sdk::{QueryOptions, ReflectClient, TraceContext, reflect_trace};

use crate::world::World;

fn narrow() -> QueryOptions {
    QueryOptions::default()
        .limit(3)
        .lambda(0.25)
        .mmr_lambda(0.75)
        .similarity_threshold(0.125)
        .metadata_filter("customer", "acme")
}

#[reflect_trace(client = client, query = narrow())]
fn with_query(ctx: &TraceContext, question: &str, client: &ReflectClient) -> String {
    ctx.task().to_owned()
}

#[reflect_trace(client = client, limit = 5, query = query.clone(), lambda = 0.5)]
async fn changed(
    ctx: &TraceContext,
    question: &str,
    client: &ReflectClient,
    query: &QueryOptions,
) -> String {
    ctx.task().to_owned()
}

#[test]
fn query_replaces_all_options() {
    let world = World::new();
    with_query("a", &world.client);
    let query = world.script.queries.lock().unwrap()[0].clone();
    assert_eq!(query, narrow().query("a"));
}

#[tokio::test]
async fn single_options_change_the_query_wherever_they_are_written() {
    let world = World::new();
    changed("a", &world.client, &narrow()).await;
    let query = world.script.queries.lock().unwrap()[0].clone();
    assert_eq!(query, narrow().limit(5).lambda(0.5).query("a"));
}
