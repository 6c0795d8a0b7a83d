//! What stands in the attribute's parentheses.
//!
//! A mistake is noted and passed over, so that the function survives it.

use std::ops::RangeInclusive;

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::quote;
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::{Error, Expr, ExprLit, Ident, Lit, Path, Result, Token, parse_quote};

/// The options, with their defaults for those that were not given.
pub(crate) struct Args {
    pub(crate) client: Option<Expr>,
    pub(crate) task: Option<Expr>,
    /// What is passed on to the builder of the run, in the order it was written.
    pub(crate) settings: Vec<Setting>,
    pub(crate) inject_context: bool,
    /// Whether an async function waits for the memory of its run.
    pub(crate) waits: bool,
    /// Whether callers get a `TraceResult` as it is.
    pub(crate) keeps_result: bool,
    flags: Vec<Ident>,
    /// Where the SDK is, if not under its name.
    pub(crate) sdk: Option<Path>,
    pub(crate) errors: Vec<Error>,
    seen: Vec<Ident>,
}

/// One call on the builder of the run.
pub(crate) struct Setting {
    pub(crate) key: Ident,
    pub(crate) value: Value,
}

pub(crate) enum Value {
    /// Is passed as it is.
    Plain(Expr),
    /// Is shown, by reference.
    Text(Expr),
    /// Is turned into a map, by reference.
    Map(Expr),
    /// A variant of `OnCancel`.
    OnCancel(Ident),
}

/// What a key takes.
#[derive(Clone, Copy)]
enum Kind {
    Client,
    Task,
    Text,
    Map,
    Number(f64, f64),
    AutoFail,
    Blocking,
    OnCancel,
    Returns,
    Flag,
    Crate,
}

/// Each key with what it takes, and with an example of it.
const KEYS: [(&str, Kind, &str); 20] = [
    ("client", Kind::Client, "client = self.client"),
    ("task", Kind::Task, "task = question"),
    ("limit", Kind::Number(1.0, 100.0), "limit = 5"),
    ("lambda", Kind::Number(0.0, 1.0), "lambda = 0.5"),
    ("mmr_lambda", Kind::Number(0.0, 1.0), "mmr_lambda = 0.7"),
    (
        "similarity_threshold",
        Kind::Number(-1.0, 1.0),
        "similarity_threshold = 0.3",
    ),
    (
        "metadata_filter",
        Kind::Map,
        r#"metadata_filter = [("customer", "acme")]"#,
    ),
    (
        "metadata",
        Kind::Map,
        r#"metadata = [("customer", "acme")]"#,
    ),
    ("model", Kind::Text, r#"model = "gpt-5.4-mini""#),
    (
        "reference_context",
        Kind::Text,
        "reference_context = POLICY",
    ),
    ("alpha", Kind::Number(0.0, 1.0), "alpha = 0.3"),
    ("blocking", Kind::Blocking, "blocking = true"),
    ("auto_fail", Kind::AutoFail, "auto_fail = false"),
    ("inject_context", Kind::Flag, "inject_context = false"),
    ("on_cancel", Kind::OnCancel, r#"on_cancel = "skip""#),
    ("strict", Kind::Flag, "strict"),
    ("returns", Kind::Returns, r#"returns = "result""#),
    ("boxed", Kind::Flag, "boxed"),
    ("future", Kind::Flag, "future"),
    ("crate", Kind::Crate, "crate = my_crate::reflect_sdk"),
];

impl Args {
    pub(crate) fn parse(tokens: TokenStream) -> Self {
        let mut args = Self {
            client: None,
            task: None,
            settings: Vec::new(),
            inject_context: true,
            waits: false,
            keeps_result: false,
            flags: Vec::new(),
            sdk: None,
            errors: Vec::new(),
            seen: Vec::new(),
        };
        let list = |input: ParseStream<'_>| {
            args.list(input);
            Ok(())
        };
        if let Err(error) = list.parse2(tokens) {
            args.errors.push(error);
        }
        args
    }

    /// Whether the flag was given.
    pub(crate) fn is_on(&self, flag: &str) -> bool {
        self.flag(flag).is_some()
    }

    /// The flag, where it was given.
    pub(crate) fn flag(&self, flag: &str) -> Option<&Ident> {
        self.flags.iter().find(|on| *on == flag)
    }

    /// Notes what makes no sense for this kind of function.
    pub(crate) fn check_against(&mut self, is_async: bool, gives_future: bool) {
        let senseless: &[(&str, &str)] = match (is_async, gives_future) {
            (true, _) => &[("future", "the function is `async`; remove this")],
            (false, true) => &[],
            (false, false) => &[
                (
                    "boxed",
                    "only the future of an `async fn` can be boxed; remove this",
                ),
                (
                    "on_cancel",
                    "only an `async fn` can be cancelled; remove this",
                ),
            ],
        };
        for (key, what) in senseless {
            let given = self.seen.iter().find(|seen| *seen == key);
            self.errors
                .extend(given.map(|given| Error::new(given.span(), what)));
        }
    }

    fn list(&mut self, input: ParseStream<'_>) {
        while !input.is_empty() {
            if let Err(error) = self.entry(input) {
                self.errors.push(error);
                skip_to_comma(input);
            } else if !input.is_empty() && !input.peek(Token![,]) {
                self.errors
                    .push(input.error("expected `,` before the next key"));
                skip_to_comma(input);
            }
            // Whatever comes now is a comma, or the end.
            let _ = input.parse::<Token![,]>();
        }
    }

    fn entry(&mut self, input: ParseStream<'_>) -> Result<()> {
        if !input.peek(Ident::peek_any) {
            let what = format!("expected `key = value`; the keys are {}", all_keys());
            return Err(input.error(what));
        }
        let key = input.call(Ident::parse_any)?;
        let known = KEYS.into_iter().find(|(name, ..)| key == name);
        let Some((_, kind, example)) = known else {
            skip_value(input);
            let what = format!("unknown key `{key}`; the keys are {}", all_keys());
            return Err(Error::new(key.span(), what));
        };
        if self.seen.contains(&key) {
            skip_value(input);
            let what = format!("`{key}` is given twice; remove one");
            return Err(Error::new(key.span(), what));
        }
        self.seen.push(key.clone());
        if !input.peek(Token![=]) {
            return self.bare(key, kind, example);
        }
        input.parse::<Token![=]>()?;
        if input.is_empty() || input.peek(Token![,]) {
            let what = format!("`{key}` needs a value, as in `{example}`");
            return Err(Error::new(key.span(), what));
        }
        if let Kind::Crate = kind {
            return self.sdk(input);
        }
        let value = peel(input.parse()?);
        self.value(key, kind, example, value)
    }

    /// A key without a value.
    fn bare(&mut self, key: Ident, kind: Kind, example: &str) -> Result<()> {
        match kind {
            Kind::Flag if key == "inject_context" => {}
            Kind::Flag | Kind::Blocking => {
                let yes = parse_quote!(true);
                return self.value(key, kind, example, yes);
            }
            _ => {}
        }
        let what = format!("`{key}` needs a value, as in `{example}`");
        Err(Error::new(key.span(), what))
    }

    fn value(&mut self, key: Ident, kind: Kind, example: &str, value: Expr) -> Result<()> {
        let value = match kind {
            Kind::Client => {
                self.client = Some(value);
                return Ok(());
            }
            Kind::Task => {
                self.task = Some(value);
                return Ok(());
            }
            Kind::Flag => {
                let on = boolean(&value)
                    .ok_or_else(|| mistake(&value, "this must be `true` or `false`"))?;
                if key == "inject_context" {
                    self.inject_context = on;
                } else if on {
                    self.flags.push(key);
                }
                return Ok(());
            }
            Kind::Returns => {
                self.keeps_result = choice(&value, &["output", "result"])? == 1;
                return Ok(());
            }
            // Its value was a path.
            Kind::Crate => return Ok(()),
            Kind::OnCancel => {
                let variants = ["Record", "Fail", "Skip"];
                let chosen = choice(&value, &["record", "fail", "skip"])?;
                Value::OnCancel(Ident::new(variants[chosen], Span::mixed_site()))
            }
            Kind::Text => Value::Text(value),
            Kind::Map if matches!(value, Expr::Lit(_)) => {
                let what = format!("`{key}` is a map or a list of pairs, as in `{example}`");
                return Err(mistake(&value, what));
            }
            Kind::Map => Value::Map(value),
            Kind::Number(least, most) => {
                check_number(&key, &value, least..=most)?;
                Value::Plain(value)
            }
            Kind::AutoFail => Value::Plain(value),
            Kind::Blocking => {
                self.waits = boolean(&value) != Some(false);
                Value::Plain(value)
            }
        };
        self.settings.push(Setting { key, value });
        Ok(())
    }

    fn sdk(&mut self, input: ParseStream<'_>) -> Result<()> {
        if input.peek(syn::LitStr) {
            let what = "write the path without quotes, as in `crate = my_crate::reflect_sdk`";
            return Err(input.error(what));
        }
        self.sdk = Some(input.call(Path::parse_mod_style)?);
        Ok(())
    }
}

fn all_keys() -> String {
    let names: Vec<_> = KEYS.iter().map(|(name, ..)| format!("`{name}`")).collect();
    names.join(", ")
}

/// Passes over what follows a key that is of no use.
fn skip_value(input: ParseStream<'_>) {
    if input.parse::<Token![=]>().is_ok() && input.fork().parse::<Expr>().is_ok() {
        let _ = input.parse::<Expr>();
    }
}

fn skip_to_comma(input: ParseStream<'_>) {
    while !input.is_empty() && !input.peek(Token![,]) {
        let _ = input.parse::<TokenTree>();
    }
}

/// The expression without the parentheses around it, seen or not: what a `macro_rules!` macro was
/// given comes in some that are not.
fn peel(mut value: Expr) -> Expr {
    loop {
        value = match value {
            Expr::Group(group) => *group.expr,
            Expr::Paren(paren) => *paren.expr,
            other => return other,
        }
    }
}

fn mistake(at: &Expr, what: impl std::fmt::Display) -> Error {
    Error::new_spanned(quote!(#at), what)
}

fn boolean(value: &Expr) -> Option<bool> {
    match value {
        Expr::Lit(ExprLit {
            lit: Lit::Bool(yes),
            ..
        }) => Some(yes.value),
        _ => None,
    }
}

/// The number of the one that was chosen.
fn choice(value: &Expr, choices: &[&str]) -> Result<usize> {
    let text = match value {
        Expr::Lit(ExprLit {
            lit: Lit::Str(text),
            ..
        }) => Some(text.value()),
        _ => None,
    };
    let chosen = text.and_then(|text| choices.iter().position(|choice| *choice == text));
    chosen.ok_or_else(|| {
        let choices: Vec<_> = choices.iter().map(|choice| format!("{choice:?}")).collect();
        mistake(value, format!("this must be one of {}", choices.join(", ")))
    })
}

/// A number that is written down is checked now; any other expression when it runs.
fn check_number(key: &Ident, value: &Expr, range: RangeInclusive<f64>) -> Result<()> {
    let (sign, literal) = match value {
        Expr::Unary(unary) if matches!(unary.op, syn::UnOp::Neg(_)) => {
            (-1.0, peel((*unary.expr).clone()))
        }
        other => (1.0, other.clone()),
    };
    let number: Option<f64> = match literal {
        Expr::Lit(ExprLit {
            lit: Lit::Int(int), ..
        }) => int.base10_parse().ok(),
        Expr::Lit(ExprLit {
            lit: Lit::Float(float),
            ..
        }) => float.base10_parse().ok(),
        _ => None,
    };
    match number {
        Some(number) if !range.contains(&(sign * number)) => {
            let what = format!("`{key}` must be from {} to {}", range.start(), range.end());
            Err(mistake(value, what))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use proc_macro2::{Delimiter, Group};

    use super::*;

    fn errors(tokens: TokenStream) -> Vec<String> {
        let args = Args::parse(tokens);
        args.errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn every_key_is_accepted_as_its_example_shows() {
        for (name, _, example) in KEYS {
            let tokens: TokenStream = example.parse().unwrap();
            assert_eq!(errors(tokens), [""; 0], "{name}");
        }
    }

    #[test]
    fn a_mistake_does_not_hide_the_next_one_or_what_is_right() {
        let args = Args::parse(quote!(
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

    /// The tokens as a `macro_rules!` macro hands them on that was given them.
    fn fragment(tokens: TokenStream) -> TokenTree {
        TokenTree::Group(Group::new(Delimiter::None, tokens))
    }

    #[test]
    fn values_that_a_macro_was_given_are_read_as_if_they_were_written_here() {
        let (no, result) = (fragment(quote!(false)), fragment(quote!("result")));
        let closure = fragment(quote!((|q| q)));
        let args = Args::parse(quote!(
            inject_context = #no, returns = #result, task = #closure, blocking = #no
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
    fn a_missing_comma_is_told_once() {
        assert_eq!(
            errors(quote!(limit = 5 strict)),
            ["expected `,` before the next key"]
        );
    }
}
