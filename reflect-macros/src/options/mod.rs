//! The options in the attribute's parentheses.
//!
//! A mistake adds an error and is skipped, so that the function and the other options survive it.

mod keys;
#[cfg(test)]
mod tests;
mod values;

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::{Error, Expr, Ident, Path, Result, Token, parse_quote};

use self::keys::{Kind, all_keys, keys};
use self::values::{boolean, check_number, choice, is_function, mistake, peel};

/// The options, or their defaults.
pub(crate) struct Options {
    pub(crate) client: Option<Expr>,
    pub(crate) task: Option<Expr>,
    /// What an item of a stream adds to its text.
    pub(crate) fold: Option<Expr>,
    /// Calls on the builder of the run, in the order of the options; that of `query` comes first.
    pub(crate) settings: Vec<Setting>,
    pub(crate) inject_context: bool,
    /// The closure or function that says which errors fail the run.
    pub(crate) auto_fail: Option<Expr>,
    /// Whether the run may wait for its memory.
    pub(crate) waits: bool,
    /// Whether callers get the return value whole.
    pub(crate) keeps_result: bool,
    flags: Vec<Ident>,
    /// The path of the SDK, if it is not `::reflect_sdk`.
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
    /// Passed as it is.
    Plain(Expr),
    /// Formatted, by reference.
    Text(Expr),
    /// Serialized as a map, by reference.
    Map(Expr),
    /// A `bool`.
    AutoFail(Expr),
    /// A variant of `OnCancel`.
    OnCancel(Ident),
}

impl Options {
    pub(crate) fn parse(tokens: TokenStream) -> Self {
        let mut options = Self {
            client: None,
            task: None,
            fold: None,
            settings: Vec::new(),
            inject_context: true,
            auto_fail: None,
            waits: false,
            keeps_result: false,
            flags: Vec::new(),
            sdk: None,
            errors: Vec::new(),
            seen: Vec::new(),
        };
        let list = |input: ParseStream<'_>| {
            options.list(input);
            Ok(())
        };
        if let Err(error) = list.parse2(tokens) {
            options.errors.push(error);
        }
        options
    }

    /// Whether the flag is set.
    pub(crate) fn is_on(&self, flag: &str) -> bool {
        self.flag(flag).is_some()
    }

    /// The key of the flag, if it is set.
    pub(crate) fn flag(&self, flag: &str) -> Option<&Ident> {
        self.flags.iter().find(|on| *on == flag)
    }

    /// Rejects options that do not apply to this kind of function.
    pub(crate) fn check_against(&mut self, is_async: bool, gives_future: bool, gives_stream: bool) {
        let inapplicable = [
            (is_async, "future", "the function is `async`; remove this"),
            (
                !(is_async || gives_future),
                "boxed",
                "only the future of an `async fn` can be boxed; remove this",
            ),
            (
                !(is_async || gives_future || gives_stream),
                "on_cancel",
                "only an `async fn` or a stream can be cancelled; remove this",
            ),
            (
                !gives_stream,
                "fold",
                "only the items of a stream are folded, and this function returns none; if the type is an alias of a \
                 boxed stream, add `stream`",
            ),
            (
                gives_stream,
                "returns",
                "callers get the stream as it is; remove this",
            ),
        ];
        for (is_wrong, key, what) in inapplicable {
            let given = self.seen.iter().find(|seen| *seen == key && is_wrong);
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
            // Either a comma or the end is next.
            let _ = input.parse::<Token![,]>();
        }
    }

    fn entry(&mut self, input: ParseStream<'_>) -> Result<()> {
        if !input.peek(Ident::peek_any) {
            let what = format!("expected `key = value`; the keys are {}", all_keys());
            return Err(input.error(what));
        }
        let mut key = input.call(Ident::parse_any)?;
        // The word of the Python decorator.
        if key == "blocking" {
            key = Ident::new("until_learned", key.span());
        }
        let known = keys().find(|(name, ..)| key == name);
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
            Kind::Flag | Kind::UntilLearned => {
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
            Kind::Fold => {
                self.fold = Some(value);
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
            // Handled by `sdk`.
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
            Kind::Query => {
                // Before the options that change single ones of these.
                let key = Ident::new("query", key.span());
                let value = Value::Plain(value);
                self.settings.insert(0, Setting { key, value });
                return Ok(());
            }
            Kind::AutoFail if is_function(&value) => {
                self.auto_fail = Some(value);
                return Ok(());
            }
            Kind::AutoFail => Value::AutoFail(value),
            Kind::UntilLearned => {
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

/// Skips the value of a wrong key.
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
