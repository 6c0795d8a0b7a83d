//! The SDK under the name that the manifest gives it.

use reflect::{ReflectClient, TraceContext, reflect_trace};

use crate::world::World;

#[reflect_trace(client = client, crate = reflect)]
async fn answer(ctx: &TraceContext, question: &str, client: &ReflectClient) -> String {
    ctx.task().to_owned()
}

/// What this edition lets an unsafe function do without a block.
///
/// # Safety
/// None is needed.
#[allow(
    unsafe_code,
    unsafe_op_in_unsafe_fn,
    reason = "this is what the test is about"
)]
#[reflect_trace(client = client, crate = ::reflect)]
unsafe fn not_safe(ctx: &TraceContext, question: &str, client: &ReflectClient) -> String {
    String::from_utf8_unchecked(ctx.task().as_bytes().to_vec())
}

#[tokio::test]
#[expect(unsafe_code, reason = "this is what the test is about")]
async fn the_crate_may_have_another_name() {
    let world = World::new();
    assert_eq!(answer("a", &world.client).await, "a");
    // SAFETY: what is copied is a text.
    assert_eq!(unsafe { not_safe("b", &world.client) }, "b");
    assert_eq!(world.tasks(), ["a", "b"]);
}
