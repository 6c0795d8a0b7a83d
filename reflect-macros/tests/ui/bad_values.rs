use reflect_sdk::{TraceContext, reflect_trace};

#[reflect_trace(
    limit = 500,
    control_share = 1.5,
    returns = "both",
    strict = maybe,
    on_cancel = "panic",
    metadata = "acme",
    crate = "reflect_sdk",
    model
)]
async fn answer(ctx: &TraceContext, question: &str) -> String {
    ctx.task().to_owned()
}

#[reflect_trace(limit = "5", client = 7)]
fn wrong_types(ctx: &TraceContext, question: &str) -> String {
    ctx.task().to_owned()
}

struct Opaque;

#[reflect_trace(
    model = Opaque,
    reference_context = Some(Opaque),
    metadata = Opaque,
    metadata_filter = [("customer", Opaque)],
)]
fn neither_texts_nor_maps(ctx: &TraceContext, question: &str) -> String {
    ctx.task().to_owned()
}

#[reflect_trace(boxed, on_cancel = "skip")]
fn nothing_to_await(ctx: &TraceContext, question: &str) -> String {
    ctx.task().to_owned()
}

#[reflect_trace(future)]
async fn already_one(ctx: &TraceContext, question: &str) -> String {
    ctx.task().to_owned()
}

fn main() {
    drop(answer("the function is still there"));
    wrong_types("the function is still there");
    neither_texts_nor_maps("the function is still there");
    drop(already_one("the function is still there"));
    nothing_to_await("the function is still there");
}
