//! Snapshots of the expansion of the main kinds of functions.

use proc_macro2::TokenStream;
use quote::quote;

use crate::expand::reflect_trace;

fn pretty(args: &TokenStream, item: TokenStream) -> String {
    let expanded = reflect_trace(args, item);
    prettyplease::unparse(&syn::parse2(expanded).unwrap())
}

macro_rules! snapshot {
    ($name:ident, [$($args:tt)*], $($item:tt)*) => {
        #[test]
        fn $name() {
            let expanded = pretty(&quote!($($args)*), quote!($($item)*));
            insta::with_settings!({ omit_expression => true }, {
                insta::assert_snapshot!(expanded);
            });
        }
    };
}

snapshot! {
    sync_function_with_the_defaults, [],
    fn shout(ctx: &TraceContext, question: &str) -> String { ctx.augmented_task().to_uppercase() }
}

snapshot! {
    async_method_with_every_option,
    [
        client = self.client, task = format!("Answer {question}"), limit = 5, lambda = 0.4,
        mmr_lambda = 0.8, similarity_threshold = 0.2, metadata_filter = [("customer", customer)],
        metadata = self.tags, model = self.model, session = self.ticket, reference_context = POLICY, alpha = 0.2,
        until_learned, auto_fail = false, on_cancel = "skip", strict, returns = "result", boxed,
        crate = crate::vendored::reflect_sdk,
    ],
    /// Answers.
    #[must_use]
    pub async fn answer<'a, T: Ask>(
        &'a mut self,
        mut ctx: TraceContext,
        question: &'a str,
        customer: T,
    ) -> Result<TraceResult<&'a str>, Error> {
        let reply = self.ask(&mut ctx, question)?;
        Ok(TraceResult::recorded(reply).pass())
    }
}

snapshot! {
    context_that_is_not_used, [client = CLIENT],
    fn quiet(_ctx: &TraceContext, question: String) -> anyhow::Result<TraceResult> { todo!() }
}

snapshot! {
    without_a_context, [inject_context = false, task = "Tidy up"],
    async fn tidy(&self) -> String { TraceContext::current().unwrap().task().to_owned() }
}

snapshot! {
    alias_of_a_return_type, [],
    fn alias(ctx: TraceContext, question: &str) -> Answer { answer(ctx, question) }
}

snapshot! {
    closure_over_arguments_that_are_patterns,
    [task = |question: &Question, rest| format!("{} {}", question.text, rest.len())],
    fn pattern(ctx: &TraceContext, Question { text, .. }: Question, mut rest: Vec<u8>) -> String {
        rest.clear();
        ctx.task().to_owned() + &text
    }
}

snapshot! {
    boxed_future_as_async_trait_writes_it, [client = self.client],
    fn answer<'life0, 'life1, 'life2, 'async_trait>(
        &'life0 self,
        ctx: &'life1 TraceContext,
        question: &'life2 str,
    ) -> ::core::pin::Pin<Box<
        dyn ::core::future::Future<Output = TraceResult> + ::core::marker::Send + 'async_trait,
    >>
    where
        'life0: 'async_trait,
        'life1: 'async_trait,
        'life2: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(async move { self.ask(ctx, question).await })
    }
}

snapshot! {
    opaque_future, [],
    fn later(ctx: TraceContext, question: String) -> impl Future<Output = String> + Send + use<> {
        std::future::ready(ctx.augmented_task().to_owned())
    }
}

snapshot! {
    mistakes_leave_the_function_callable, [limits = 5, lambda = 0.3],
    fn wrong(ctx: &TraceContext) -> String { ctx.task().to_owned() }
}

#[test]
fn a_body_that_does_not_parse_is_passed_on() {
    let body: TokenStream = "let x = ctx.".parse().unwrap();
    let item = quote!(fn half(ctx: &TraceContext, question: &str) -> String { #body });
    let expanded = reflect_trace(&TokenStream::new(), item).to_string();
    assert!(expanded.contains("let x = ctx ."), "{expanded}");
    assert!(
        expanded.contains("fn half (question : & str) -> String"),
        "{expanded}"
    );
}
