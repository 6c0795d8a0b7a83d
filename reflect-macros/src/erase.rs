//! Types as they can be written within a body.

use syn::visit_mut::{self, VisitMut};
use syn::{Lifetime, Type, parse_quote};

/// The type with `_` for each `impl Trait`.
pub(crate) fn nameable(ty: &Type) -> Type {
    erase(ty, false).0
}

/// Like [`nameable`], without the names of lifetimes, for a value that lives within the body.
pub(crate) fn anonymous(ty: &Type) -> Type {
    erase(ty, true).0
}

pub(crate) fn has_impl(ty: &Type) -> bool {
    erase(ty, false).1
}

/// Whether the type has a `_`, which stands for an `impl Trait`.
pub(crate) fn has_gap(ty: &Type) -> bool {
    struct Search(bool);

    impl VisitMut for Search {
        fn visit_type_mut(&mut self, ty: &mut Type) {
            self.0 |= matches!(ty, Type::Infer(_));
            visit_mut::visit_type_mut(self, ty);
        }
    }

    let mut search = Search(false);
    search.visit_type_mut(&mut ty.clone());
    search.0
}

fn erase(ty: &Type, lifetimes: bool) -> (Type, bool) {
    let mut ty = ty.clone();
    let mut erase = Erase {
        lifetimes,
        found_impl: false,
    };
    erase.visit_type_mut(&mut ty);
    (ty, erase.found_impl)
}

struct Erase {
    lifetimes: bool,
    found_impl: bool,
}

impl VisitMut for Erase {
    fn visit_type_mut(&mut self, ty: &mut Type) {
        if let Type::ImplTrait(_) = ty {
            self.found_impl = true;
            *ty = parse_quote!(_);
            return;
        }
        visit_mut::visit_type_mut(self, ty);
    }

    fn visit_type_fn_ptr_mut(&mut self, _: &mut syn::TypeFnPtr) {
        // `for<'a> fn(&'a str)` declares its own lifetimes.
    }

    fn visit_trait_bound_mut(&mut self, bound: &mut syn::TraitBound) {
        if bound.lifetimes.is_none() {
            visit_mut::visit_trait_bound_mut(self, bound);
        }
    }

    fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
        if self.lifetimes && lifetime.ident != "static" {
            *lifetime = Lifetime::new("'_", lifetime.span());
        }
    }
}
