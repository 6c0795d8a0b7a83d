use super::context::TraceContext;

/// The first parameter of a traced function.
#[diagnostic::on_unimplemented(
    message = "the first parameter of a traced function is its context, and `{Self}` is not a `TraceContext`",
    label = "write `&TraceContext` here, and the function's own parameters after it",
    note = "to do without the parameter, add `inject_context = false`"
)]
pub trait ContextParameter<'a>: Sized {
    /// The value of the parameter.
    fn bind(slot: &'a mut TraceContext) -> Self;
}

impl ContextParameter<'_> for TraceContext {
    fn bind(slot: &mut TraceContext) -> Self {
        slot.clone()
    }
}

impl<'a> ContextParameter<'a> for &'a TraceContext {
    fn bind(slot: &'a mut TraceContext) -> Self {
        slot
    }
}

impl<'a> ContextParameter<'a> for &'a mut TraceContext {
    fn bind(slot: &'a mut TraceContext) -> Self {
        slot
    }
}
