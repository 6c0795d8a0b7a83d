//! Where the task of a run comes from.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::{Error, Expr, ExprClosure, FnArg, Ident, PatType, Result, Signature, Stmt, parse_quote};

use crate::private::Private;
use crate::whole::{plain_name, rename};

/// How the task is found.
pub(crate) struct Task {
    /// A reference to what can be shown.
    value: TokenStream,
    /// The way to the SDK and the place where an error shows that it cannot.
    private: TokenStream,
    there: Span,
    /// Takes the arguments apart that had to be whole for the task.
    pub(crate) rebinds: Vec<Stmt>,
}

impl Task {
    /// Reads the task from what was given, else from the first argument.
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
                there_for_sure(first)?;
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

    /// Stands in where there is none, after that was told.
    pub(crate) fn unknown(private: &Private) -> Self {
        Self {
            value: quote!(""),
            private: quote!(#private),
            there: Span::mixed_site(),
            rebinds: Vec::new(),
        }
    }

    /// Gives the text of the task.
    pub(crate) fn text(&self) -> TokenStream {
        let Self { value, private, .. } = self;
        quote_spanned!(self.there=> #private::task(#value))
    }

    /// Gives the start of a run of `client` with this task and no options.
    pub(crate) fn start(&self) -> TokenStream {
        let Self { value, private, .. } = self;
        quote_spanned!(self.there=> #private::start(__reflect_client, #value))
    }
}

/// What the closure calls the arguments, by their order; it gets references.
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
            let what = "the closure gets the arguments of the function, and there are not so many";
            return Err(Error::new_spanned(input, what));
        };
        there_for_sure(argument)?;
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

/// The task must not be another one in another configuration.
fn there_for_sure(argument: &PatType) -> Result<()> {
    let mut attrs = argument.attrs.iter().map(syn::Attribute::path);
    if attrs.any(|path| path.is_ident("cfg") || path.is_ident("cfg_attr")) {
        let what = "this argument is not there in every configuration, so that it cannot be taken \
                    for the task by its place; say what the task is: `task = <expr>`";
        return Err(Error::new_spanned(&argument.pat, what));
    }
    Ok(())
}

/// A name for the whole argument. A pattern is moved behind the place where the task is read.
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
        // Clippy wants every argument to be used up. It is let go at the end all the same.
        rebinds.push(parse_quote!(let mut #name = { #name };));
    }
    rebinds.push(rebind);
    name
}
