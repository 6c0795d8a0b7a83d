//! The task of a run.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::{Error, Expr, ExprClosure, FnArg, Ident, PatType, Result, Signature, Stmt, parse_quote};

use crate::arguments::{plain_name, rename};
use crate::private::Private;

/// The expression of the task.
pub(crate) struct Task {
    /// A reference to a value with a text.
    value: TokenStream,
    /// The path to the SDK, and the span for the error of a value without a text.
    private: TokenStream,
    there: Span,
    /// Destructures the arguments that had to be whole for the task.
    pub(crate) rebinds: Vec<Stmt>,
}

impl Task {
    /// The given expression or closure, else the first argument.
    pub(crate) fn new(
        given: Option<&Expr>,
        sig: &mut Signature,
        private: &Private,
    ) -> Result<Self> {
        let mut rebinds = Vec::new();
        let is_sync = sig.asyncness.is_none();
        let (value, (private, there)) = match given {
            Some(Expr::Closure(closure)) => {
                let bindings = bindings(closure, sig, &mut rebinds)?;
                let body = &closure.body;
                let (private, there) = private.at(body);
                let value = quote_spanned!(there=> &#private::call(|| { #bindings #body }));
                (value, (private, there))
            }
            Some(value) => {
                let place = private.at(value);
                (quote_spanned!(place.1=> &(#value)), place)
            }
            None => {
                let Some(first) = arguments(sig).next() else {
                    return Err(Error::new(
                        sig.ident.span(),
                        "no argument can be the task; say what it is: add `task = <expr>`",
                    ));
                };
                unconditional(first)?;
                let place = private.at(&first.ty);
                let name = name_whole(first, 0, is_sync, &mut rebinds);
                (quote_spanned!(place.1=> &#name), place)
            }
        };
        Ok(Self {
            value,
            private,
            there,
            rebinds,
        })
    }

    /// A placeholder after an error.
    pub(crate) fn unknown(private: &Private) -> Self {
        Self {
            value: quote!(""),
            private: quote!(#private),
            there: Span::mixed_site(),
            rebinds: Vec::new(),
        }
    }

    /// The text of the task.
    pub(crate) fn text(&self) -> TokenStream {
        let Self { value, private, .. } = self;
        quote_spanned!(self.there=> #private::task_text(#value))
    }
}

/// Binds the closure's parameters to references to the arguments, in their order.
fn bindings(
    closure: &ExprClosure,
    sig: &mut Signature,
    rebinds: &mut Vec<Stmt>,
) -> Result<TokenStream> {
    let is_sync = sig.asyncness.is_none();
    let mut given = arguments(sig);
    let mut bindings = TokenStream::new();
    for (index, input) in closure.inputs.iter().enumerate() {
        let Some(argument) = given.next() else {
            let what = "the closure has more parameters than the function has arguments";
            return Err(Error::new_spanned(input, what));
        };
        unconditional(argument)?;
        let name = name_whole(argument, index, is_sync, rebinds);
        bindings.extend(quote! {
            #[allow(clippy::shadow_reuse, clippy::shadow_same, clippy::shadow_unrelated)]
            let #input = &#name;
        });
    }
    Ok(bindings)
}

/// The arguments after the context.
fn arguments(sig: &mut Signature) -> impl Iterator<Item = &mut PatType> {
    sig.inputs.iter_mut().filter_map(|input| match input {
        FnArg::Typed(argument) => Some(argument),
        FnArg::Receiver(_) => None,
    })
}

/// Rejects an argument that is conditional: the task must be the same in every configuration.
fn unconditional(argument: &PatType) -> Result<()> {
    let mut attrs = argument.attrs.iter().map(syn::Attribute::path);
    if attrs.any(|path| path.is_ident("cfg") || path.is_ident("cfg_attr")) {
        let what = "this argument is conditional (`cfg`), so it cannot be the task; say what the task is: \
                    `task = <expr>`";
        return Err(Error::new_spanned(&argument.pat, what));
    }
    Ok(())
}

/// A name for the whole argument. A pattern is destructured after the task is read.
fn name_whole(
    argument: &mut PatType,
    index: usize,
    is_sync: bool,
    rebinds: &mut Vec<Stmt>,
) -> Ident {
    if let Some(name) = plain_name(&argument.pat) {
        return name.clone();
    }
    let name = format_ident!("__reflect_whole_{index}", span = Span::mixed_site());
    let rebind = rename(argument, &name);
    if is_sync {
        // Consumes the argument, for `clippy::needless_pass_by_value`.
        rebinds.push(parse_quote!(let mut #name = { #name };));
    }
    rebinds.push(rebind);
    name
}
