use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use quote::quote;
use syn::Expr;

use super::Options;
use super::keys::keys;

fn errors(tokens: TokenStream) -> Vec<String> {
    let args = Options::parse(tokens);
    args.errors.iter().map(ToString::to_string).collect()
}

#[test]
fn every_key_is_accepted_as_its_example_shows() {
    for (name, _, example) in keys() {
        let tokens: TokenStream = example.parse().unwrap();
        assert_eq!(errors(tokens), [""; 0], "{name}");
    }
}

#[test]
fn a_mistake_hides_neither_the_next_one_nor_valid_options() {
    let args = Options::parse(quote!(
        limits = f::<A, B>(1),
        client,
        limit = 5,
        limit = 6,
        lambda = 1.5,
        returns = "both",
        strict = maybe,
        "text",
        model =,
        task = question
    ));
    let errors: Vec<_> = args.errors.iter().map(ToString::to_string).collect();
    assert!(errors[0].starts_with("unknown key `limits`; the keys are `client`, `task`"));
    let rest: Vec<_> = errors[1..].iter().map(|error| &error[..24]).collect();
    assert_eq!(
        rest,
        [
            "`client` needs a value, ",
            "`limit` is given twice; ",
            "`lambda` must be from 0 ",
            "this must be one of \"out",
            "this must be `true` or `",
            "expected `key = value`; ",
            "`model` needs a value, a",
        ]
    );
    assert!(args.task.is_some());
    assert_eq!(args.settings.len(), 1);
}

/// Tokens as a fragment of a `macro_rules!` macro.
fn fragment(tokens: TokenStream) -> TokenTree {
    TokenTree::Group(Group::new(Delimiter::None, tokens))
}

#[test]
fn values_from_a_macro_are_read_like_written_ones() {
    let (no, result) = (fragment(quote!(false)), fragment(quote!("result")));
    let closure = fragment(quote!((|q| q)));
    let args = Options::parse(quote!(
        inject_context = #no, returns = #result, task = #closure, until_learned = #no
    ));
    assert!(args.errors.is_empty());
    assert!(!args.inject_context && args.keeps_result && !args.waits);
    assert!(matches!(args.task, Some(Expr::Closure(_))));
    let (much, less) = (fragment(quote!(500)), fragment(quote!(2)));
    assert_eq!(
        errors(quote!(limit = #much, lambda = -#less)),
        [
            "`limit` must be from 1 to 100",
            "`lambda` must be from 0 to 1"
        ]
    );
}

#[test]
fn a_missing_comma_is_reported_once() {
    assert_eq!(
        errors(quote!(limit = 5 strict)),
        ["expected `,` before the next key"]
    );
}
