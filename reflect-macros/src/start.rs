//! How a traced function starts its run.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::Ident;

use crate::args::{Args, Value};
use crate::expand::Traced;

impl Traced {
    /// Makes `error` what is returned.
    pub(crate) fn refuse(&self, strict: &Ident) -> TokenStream {
        let (private, there) = self.private.at(strict);
        quote_spanned!(there=> #private::Refuse::refuse(__reflect_error))
    }

    /// Whether the body, or what it calls, can see its context.
    fn is_shown(&self) -> bool {
        self.context.as_ref().is_none_or(|context| context.used)
    }

    pub(crate) fn kind(&self, quiet: &str, shown: &str) -> Ident {
        let name = if self.is_shown() { shown } else { quiet };
        Ident::new(name, Span::mixed_site())
    }

    /// The start of a run. Where the client is disabled, it has a context but no options, if that
    /// can be seen, here or by a run around it; else it is `None`.
    pub(crate) fn start(&self, args: &Args) -> TokenStream {
        let here = Span::mixed_site();
        let Self { private, task, .. } = self;
        let client = if let Some(client) = &args.client {
            let whose = self.kind("unseen_client", "client");
            let (private, there) = private.at(client);
            quote_spanned!(there=> #private::#whose(&(#client)))
        } else {
            // Where nobody named a client, the function is a part of whatever is around it.
            quote_spanned!(here=> #private::client(&#private::Installed))
        };
        let some = quote_spanned!(here=> ::core::option::Option::Some);
        let none = quote_spanned!(here=> ::core::option::Option::None);
        let text = task.text();
        if !self.is_shown() {
            let described = if args.settings.is_empty() {
                task.start()
            } else {
                let described = self.described(args, quote_spanned!(here=> __reflect_run));
                quote_spanned!(here=> {
                    let __reflect_run = __reflect_client.trace(#text);
                    if #private::is_recorded(&__reflect_run) {
                        #described
                    } else {
                        #private::described(__reflect_run)
                    }
                })
            };
            // Apart, so that a lock in the expression is let go before the run starts.
            return quote_spanned!(here=> {
                let __reflect_client = #client;
                match __reflect_client {
                    #some(__reflect_client) => #some(#described),
                    #none => #none,
                }
            });
        }
        let builder = quote_spanned!(here=> __reflect_client.trace(__reflect_task));
        let described = self.described(args, builder);
        quote_spanned!(here=> {
            let __reflect_client = #client;
            let __reflect_task = #text;
            match __reflect_client {
                #some(__reflect_client) => #private::Shown::Run(#described),
                #none => #private::Shown::idle(__reflect_task),
            }
        })
    }

    /// The start of a run, with all options.
    fn described(&self, args: &Args, mut builder: TokenStream) -> TokenStream {
        let (private, here) = (&self.private, Span::mixed_site());
        for setting in &args.settings {
            let key = &setting.key;
            builder = match &setting.value {
                Value::Plain(value) => quote!(#builder.#key(#value)),
                Value::Text(value) => {
                    let (private, there) = private.at(value);
                    let text = quote_spanned!(there=> #private::text(&(#value)).show());
                    quote_spanned!(there=> #private::#key(#builder, #text))
                }
                Value::Map(value) => {
                    let (private, there) = private.at(value);
                    quote_spanned!(there=> #private::#key(#builder, &(#value)))
                }
                Value::OnCancel(variant) => quote!(#builder.#key(#private::OnCancel::#variant)),
            };
        }
        quote_spanned!(here=> #private::described(#builder))
    }
}
