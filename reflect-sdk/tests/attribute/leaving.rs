//! Options of a traced function that await, or leave it.

use reflect_sdk::{ReflectClient, TraceContext, reflect_trace};

use crate::world::World;

#[reflect_trace(client = client, model = names.next().await.ok_or("none")?)]
async fn leaves(
    ctx: &TraceContext,
    question: &str,
    mut names: Names,
    client: &ReflectClient,
) -> Result<String, &'static str> {
    Ok(ctx.task().to_owned())
}

struct Names(Option<&'static str>);

impl Names {
    async fn next(&mut self) -> Option<&'static str> {
        tokio::task::yield_now().await;
        self.0.take()
    }
}

#[tokio::test]
async fn an_option_may_await_and_return() {
    let world = World::new();
    assert_eq!(
        leaves("a", Names(Some("m")), &world.client).await,
        Ok("a".to_owned())
    );
    assert_eq!(world.only().model.as_deref(), Some("m"));
    assert_eq!(leaves("a", Names(None), &world.client).await, Err("none"));
}
