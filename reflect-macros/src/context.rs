//! The context parameter: the body has it, callers do not.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::visit::{self, Visit};
use syn::{
    Attribute, Error, FnArg, GenericParam, Generics, Lifetime, Pat, PatType, Result, Signature,
    Type, WherePredicate,
};

use crate::erase::{anonymous, has_impl};
use crate::traced::Traced;

/// The context parameter of a function.
pub(crate) struct ContextParameter {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) pat: Pat,
    pub(crate) ty: Type,
    /// The error of a return type that borrows from the context.
    pub(crate) escape: Option<Error>,
}

impl ContextParameter {
    /// Removes the first parameter after the receiver from the signature.
    pub(crate) fn take(sig: &mut Signature) -> Result<Self> {
        let place = usize::from(sig.receiver().is_some());
        let Some(FnArg::Typed(parameter)) = sig.inputs.iter().nth(place).cloned() else {
            return Err(Error::new(
                sig.paren_token.span.join(),
                "traced functions take a `TraceContext` as the first parameter, as in \
                 `ctx: &TraceContext`; to do without, add `inject_context = false`",
            ));
        };
        let PatType { attrs, pat, ty, .. } = parameter;
        if is_certainly_none(&ty) {
            let what = "the first parameter of a traced function is its context, and this is not a \
                        `TraceContext`: write `ctx: &TraceContext` before it; to do without, add \
                        `inject_context = false`";
            return Err(Error::new_spanned(ty, what));
        }
        let inputs = std::mem::take(&mut sig.inputs);
        let others = inputs
            .into_iter()
            .enumerate()
            .filter(|(index, _)| *index != place);
        sig.inputs = others.map(|(_, input)| input).collect();
        let escape = drop_lifetimes(sig, &ty).map(|lifetime| {
            let what = "this would borrow from the context, which does not outlive the run; return \
                        an owned value, such as a `String`";
            Error::new(lifetime.span(), what)
        });
        Ok(Self {
            escape,
            attrs,
            pat: *pat,
            ty: anonymous(&ty),
        })
    }
}

/// Whether the type is neither a context nor an alias of one. The parameter then stays in the
/// signature, so that callers, who pass it, see no second error.
fn is_certainly_none(ty: &Type) -> bool {
    const TEXTS_AND_NUMBERS: [&str; 18] = [
        "String", "str", "bool", "char", "f32", "f64", "i8", "i16", "i32", "i64", "i128", "isize",
        "u8", "u16", "u32", "u64", "u128", "usize",
    ];
    match ty {
        Type::Group(group) => is_certainly_none(&group.elem),
        Type::Paren(paren) => is_certainly_none(&paren.elem),
        Type::Reference(reference) => is_certainly_none(&reference.elem),
        Type::Path(path) if path.qself.is_none() => TEXTS_AND_NUMBERS
            .iter()
            .any(|name| path.path.is_ident(name)),
        Type::Array(_) | Type::Slice(_) | Type::Tuple(_) | Type::Ptr(_) | Type::FnPtr(_) => true,
        _ => has_impl(ty),
    }
}

/// Removes the lifetimes that only the parameter used: a trait does not declare them. Returns one that
/// the return type uses.
fn drop_lifetimes(sig: &mut Signature, ty: &Type) -> Option<Lifetime> {
    let mut named = Lifetimes::default();
    named.visit_type(ty);
    let mut escaping = None;
    for lifetime in named.0 {
        let mut others = Lifetimes::default();
        for input in &sig.inputs {
            others.visit_fn_arg(input);
        }
        let rest = without(&sig.generics, &lifetime);
        others.visit_generics(&rest);
        let is_own = rest.params.len() < sig.generics.params.len();
        if others.0.contains(&lifetime) || !is_own {
            continue;
        }
        let mut returned = Lifetimes::default();
        returned.visit_return_type(&sig.output);
        match returned.0.into_iter().find(|it| *it == lifetime) {
            Some(returned) => escaping = Some(returned),
            None => sig.generics = rest,
        }
    }
    escaping
}

fn without(generics: &Generics, lifetime: &Lifetime) -> Generics {
    let mut generics = generics.clone();
    let params = std::mem::take(&mut generics.params);
    generics.params = params
        .into_iter()
        .filter(
            |param| !matches!(param, GenericParam::Lifetime(param) if param.lifetime == *lifetime),
        )
        .collect();
    if let Some(clause) = &mut generics.where_clause {
        let predicates = std::mem::take(&mut clause.predicates);
        clause.predicates = predicates
            .into_iter()
            .filter(|predicate| {
                !matches!(predicate, WherePredicate::Lifetime(it) if it.lifetime == *lifetime)
            })
            .collect();
    }
    generics
}

#[derive(Default)]
struct Lifetimes(Vec<Lifetime>);

impl<'ast> Visit<'ast> for Lifetimes {
    fn visit_lifetime(&mut self, lifetime: &'ast Lifetime) {
        self.0.push(lifetime.clone());
        visit::visit_lifetime(self, lifetime);
    }
}

impl ContextParameter {
    /// The attributes that apply to a `let` too.
    fn lint_attrs(&self) -> TokenStream {
        let lints = ["allow", "expect", "warn", "deny", "forbid", "cfg"];
        let forwarded = self
            .attrs
            .iter()
            .filter(|attr| lints.iter().any(|lint| attr.path().is_ident(lint)));
        forwarded.map(ToTokens::to_token_stream).collect()
    }
}

impl Traced {
    /// The variable that holds the context. It has the span of the parameter's type, where the compiler
    /// reports a context that is borrowed for too long.
    pub(crate) fn slot(&self) -> Ident {
        let ty = self.context.as_ref().map(|context| &context.ty);
        let span = ty.map_or_else(Span::mixed_site, |ty| self.private.at(ty).1);
        Ident::new("__reflect_context", span)
    }

    /// Binds the parameter to that variable.
    pub(crate) fn bind(&self) -> Option<TokenStream> {
        let slot = self.slot();
        self.bind_to(&quote_spanned!(slot.span()=> &mut #slot))
    }

    pub(crate) fn bind_to(&self, slot: &TokenStream) -> Option<TokenStream> {
        let (context, private) = (self.context.as_ref()?, &self.private);
        let ContextParameter { pat, ty, .. } = context;
        let attrs = context.lint_attrs();
        Some(quote_spanned!(Span::mixed_site()=>
            #attrs
            let #pat: #ty = <#ty as #private::ContextParameter<'_>>::bind(#slot);
        ))
    }
}
