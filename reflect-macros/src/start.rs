//! The start of the run in the expansion.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::Ident;

use crate::args::{Args, Value};
use crate::bind::none;
use crate::deferred::{deferred, is_plain, leaves};
use crate::traced::Traced;

impl Traced {
    /// The value to return for `__reflect_error`.
    pub(crate) fn refuse(&self, strict: &Ident) -> TokenStream {
        let (private, there) = self.private.at(strict);
        quote_spanned!(there=> #private::Refusal::refuse(__reflect_error))
    }

    /// Whether the body, or code that it calls, can see the context.
    fn is_seen(&self) -> bool {
        self.context.as_ref().is_none_or(|context| context.used)
    }

    /// The start of the run. Without a client, options are not evaluated.
    pub(crate) fn start(&self, args: &Args) -> TokenStream {
        let here = Span::mixed_site();
        let Self { private, task, .. } = self;
        let client = if let Some(client) = &args.client {
            let function = if self.is_seen() {
                "client"
            } else {
                "unseen_client"
            };
            let function = Ident::new(function, here);
            let (private, there) = private.at(client);
            let found = quote_spanned!(there=> #private::#function(&(#client)));
            if is_plain(client) || leaves(client.to_token_stream()) {
                found
            } else {
                quote_spanned!(there=> #private::survived_client(|| #found))
            }
        } else {
            // Without a `client`, the function is a part of the run around it.
            quote_spanned!(here=> #private::client(&#private::Installed))
        };
        let some = quote_spanned!(here=> ::core::option::Option::Some);
        let none = none();
        let text = task.text();
        // In a statement of its own, the client's expression drops a lock before the run starts.
        if self.is_seen() {
            let builder = quote_spanned!(here=> __reflect_client.trace(__reflect_task));
            let described = self.described(args, builder);
            return quote_spanned!(here=> {
                let __reflect_client = #client;
                let __reflect_task = #text;
                match __reflect_client {
                    #some(__reflect_client) => #some(#described),
                    #none => #some(#private::idle(__reflect_task)),
                }
            });
        }
        let described = if args.settings.is_empty() {
            task.start()
        } else {
            let described = self.described(args, quote_spanned!(here=> __reflect_run));
            let run = task.run();
            quote_spanned!(here=> {
                let __reflect_run = #run;
                if #private::is_recorded(&__reflect_run) {
                    #described
                } else {
                    #private::described(__reflect_run)
                }
            })
        };
        quote_spanned!(here=> {
            let __reflect_client = #client;
            match __reflect_client {
                #some(__reflect_client) => #some(#described),
                #none => #none,
            }
        })
    }

    /// The start of a run, with all options.
    fn described(&self, args: &Args, mut builder: TokenStream) -> TokenStream {
        let (private, here) = (&self.private, Span::mixed_site());
        let run = Ident::new("__reflect_run", here);
        for setting in &args.settings {
            let key = &setting.key;
            builder = match &setting.value {
                Value::Plain(value) if is_plain(value) || leaves(value.to_token_stream()) => {
                    quote!(#builder.#key(#value))
                }
                Value::Plain(value) => {
                    let (private, there) = private.at(value);
                    let (name, some) = (key.to_string(), quote_spanned!(there=> __reflect_value));
                    let none = none();
                    quote_spanned!(there=> {
                        let #run = #builder;
                        match #private::value(&#run, #name, || #value) {
                            ::core::option::Option::Some(#some) => #run.#key(#some),
                            #none => #run,
                        }
                    })
                }
                Value::Text(value) => {
                    let (private, there) = private.at(value);
                    let text = quote_spanned!(there=> #private::text(&(#value)).show());
                    let (before, text) = deferred(&value.to_token_stream(), &text, there);
                    quote_spanned!(there=> { #before #private::#key(#builder, #text) })
                }
                Value::Map(value) => {
                    let (private, there) = private.at(value);
                    let pairs = quote_spanned!(there=> #private::pairs(&(#value)));
                    let (before, pairs) = deferred(&value.to_token_stream(), &pairs, there);
                    quote_spanned!(there=> { #before #private::#key(#builder, #pairs) })
                }
                Value::OnCancel(variant) => quote!(#builder.#key(#private::OnCancel::#variant)),
            };
        }
        quote_spanned!(here=> #private::described(#builder))
    }
}
