//! The run of a call, with its options.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::Ident;

use crate::erase::has_gap;
use crate::options::{Options, Value};
use crate::return_type::Returned;
use crate::traced::Traced;

impl Traced {
    /// The value to return for `__reflect_error`.
    pub(crate) fn refuse(&self, strict: &Ident) -> TokenStream {
        let (private, there) = self.private.at(strict);
        quote_spanned!(there=> #private::Refusal::refuse(__reflect_error))
    }

    /// What tells which error the value is, and whether it fails the run.
    pub(crate) fn inspect(&self, options: &Options, returned: &Returned) -> TokenStream {
        let here = Span::mixed_site();
        let private = &self.private;
        let known = if has_gap(&returned.recorded) {
            // The type is not known yet where this is checked.
            quote_spanned!(here=> ::core::option::Option::None)
        } else {
            quote_spanned!(here=> #private::inspect(__reflect_value).failure())
        };
        match &options.auto_fail {
            None if has_gap(&returned.recorded) => quote_spanned!(here=> |_| #known),
            None => quote_spanned!(here=> |__reflect_value| #known),
            Some(rule) => {
                let (private, there) = self.private.at(rule);
                quote_spanned!(there=> |__reflect_value| #private::ruled(#known, __reflect_value, #rule))
            }
        }
    }

    /// The run, which is still to start. Of one that is not recorded, only client and task are evaluated.
    pub(crate) fn start(&self, options: &Options) -> TokenStream {
        let here = Span::mixed_site();
        let Self { private, task, .. } = self;
        let client = if let Some(client) = &options.client {
            let (private, there) = private.at(client);
            quote_spanned!(there=> #private::client(&(#client)))
        } else {
            quote_spanned!(here=> #private::client(&#private::Installed))
        };
        let text = task.text();
        let described = (!options.settings.is_empty()).then(|| {
            let described = self.described(options);
            quote_spanned!(here=>
                let __reflect_run = if #private::is_recorded(&__reflect_run) {
                    #described
                } else {
                    __reflect_run
                };
            )
        });
        // In a statement of its own, the client's expression drops a lock before the run starts.
        quote_spanned!(here=> {
            let __reflect_client = #client;
            let __reflect_run = __reflect_client.trace(#text);
            #described
            __reflect_run
        })
    }

    /// The run with all options.
    fn described(&self, options: &Options) -> TokenStream {
        let mut run = quote_spanned!(Span::mixed_site()=> __reflect_run);
        for setting in &options.settings {
            let key = &setting.key;
            run = match &setting.value {
                Value::Plain(value) => quote!(#run.#key(#value)),
                Value::Text(value) => {
                    let (private, there) = self.private.at(value);
                    quote_spanned!(there=> #private::#key(#run, #private::text(&(#value)).show()))
                }
                Value::Map(value) => {
                    let (private, there) = self.private.at(value);
                    quote_spanned!(there=> #private::#key(#run, #private::pairs(&(#value))))
                }
                Value::AutoFail(value) => {
                    let (private, there) = self.private.at(value);
                    quote_spanned!(there=> #private::auto_fail(#run, #value))
                }
                Value::OnCancel(variant) => {
                    let private = &self.private;
                    quote!(#run.#key(#private::OnCancel::#variant))
                }
            };
        }
        run
    }
}
