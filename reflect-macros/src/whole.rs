//! Arguments that are patterns, bound by a name first and destructured later.

use syn::visit::{self, Visit};
use syn::{Ident, Pat, PatIdent, PatType, Stmt, parse_quote};

/// Renames the argument to `name`, and returns the `let` that destructures it. What the pattern does
/// not bind stays in the argument, and is dropped with it.
pub(crate) fn rename(argument: &mut PatType, name: &Ident) -> Stmt {
    let pattern = &argument.pat;
    let rebind = parse_quote!(let #pattern = #name;);
    let mut borrows = MutableBorrows(false);
    borrows.visit_pat(pattern);
    *argument.pat = if borrows.0 {
        parse_quote!(mut #name)
    } else {
        parse_quote!(#name)
    };
    rebind
}

/// Whether a pattern has a `ref mut`.
struct MutableBorrows(bool);

impl<'ast> Visit<'ast> for MutableBorrows {
    fn visit_pat_ident(&mut self, name: &'ast PatIdent) {
        self.0 |= name.by_ref.is_some() && name.mutability.is_some();
        visit::visit_pat_ident(self, name);
    }
}

/// The name of an argument that is a plain name.
pub(crate) fn plain_name(pattern: &Pat) -> Option<&Ident> {
    match pattern {
        Pat::Ident(name) if name.by_ref.is_none() && name.subpat.is_none() => Some(&name.ident),
        _ => None,
    }
}
