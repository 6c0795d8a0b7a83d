//! The context parameter, which the body has and callers do not.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::visit::{self, Visit};
use syn::{
    Attribute, Error, FnArg, GenericParam, Generics, Lifetime, Pat, PatType, Result, Signature,
    Type, WherePredicate,
};

use crate::mentions::mentions;
use crate::returns::{anonymous, has_impl};

/// The parameter that was taken out of the signature.
pub(crate) struct ContextParameter {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) pat: Pat,
    pub(crate) ty: Type,
    /// Whether the body can see the context through it.
    pub(crate) used: bool,
}

impl ContextParameter {
    /// Takes the first parameter after the receiver out of the signature.
    pub(crate) fn take(sig: &mut Signature, body: &TokenStream) -> Result<Self> {
        let place = usize::from(sig.receiver().is_some());
        let Some(FnArg::Typed(parameter)) = sig.inputs.iter().nth(place).cloned() else {
            return Err(Error::new(
                sig.paren_token.span.join(),
                "traced functions take a `TraceContext` as the first parameter, as in \
                 `ctx: &TraceContext`; to do without, add `inject_context = false`",
            ));
        };
        let PatType { attrs, pat, ty, .. } = parameter;
        if has_impl(&ty) {
            let what = "the first parameter of a traced function is its context; \
                        write `&TraceContext` here";
            return Err(Error::new_spanned(ty, what));
        }
        let inputs = std::mem::take(&mut sig.inputs);
        let others = inputs
            .into_iter()
            .enumerate()
            .filter(|(index, _)| *index != place);
        sig.inputs = others.map(|(_, input)| input).collect();
        drop_lifetimes(sig, &ty);
        Ok(Self {
            used: is_used(&pat, body),
            attrs,
            pat: *pat,
            ty: anonymous(&ty),
        })
    }
}

fn is_used(pat: &Pat, body: &TokenStream) -> bool {
    match pat {
        Pat::Wild(_) => false,
        Pat::Ident(name) => mentions(body, &name.ident),
        _ => true,
    }
}

/// Removes the lifetimes that only the parameter had use for: a trait does not declare them.
fn drop_lifetimes(sig: &mut Signature, ty: &Type) {
    let mut named = Lifetimes::default();
    named.visit_type(ty);
    for lifetime in named.0 {
        let mut others = Lifetimes::default();
        for input in &sig.inputs {
            others.visit_fn_arg(input);
        }
        others.visit_return_type(&sig.output);
        others.visit_generics(&without(&sig.generics, &lifetime));
        if !others.0.contains(&lifetime) {
            sig.generics = without(&sig.generics, &lifetime);
        }
    }
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

/// The attributes that also mean something on a `let`.
impl ContextParameter {
    pub(crate) fn lint_attrs(&self) -> TokenStream {
        let lints = ["allow", "expect", "warn", "deny", "forbid", "cfg"];
        let forwarded = self
            .attrs
            .iter()
            .filter(|attr| lints.iter().any(|lint| attr.path().is_ident(lint)));
        forwarded.map(ToTokens::to_token_stream).collect()
    }
}
