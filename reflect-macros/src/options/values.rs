//! Values of options.

use std::fmt::Display;
use std::ops::RangeInclusive;

use quote::quote;
use syn::{Error, Expr, ExprLit, Ident, Lit, Result};

/// The expression without the parentheses around it. A fragment of a `macro_rules!` macro comes in
/// invisible ones.
pub(super) fn peel(mut value: Expr) -> Expr {
    loop {
        value = match value {
            Expr::Group(group) => *group.expr,
            Expr::Paren(paren) => *paren.expr,
            other => return other,
        }
    }
}

pub(super) fn mistake(at: &Expr, what: impl Display) -> Error {
    Error::new_spanned(quote!(#at), what)
}

pub(super) fn boolean(value: &Expr) -> Option<bool> {
    match value {
        Expr::Lit(ExprLit {
            lit: Lit::Bool(yes),
            ..
        }) => Some(yes.value),
        _ => None,
    }
}

/// Whether the value is a closure, or by its name the path of a function, such as `Error::is_wrong`.
pub(super) fn is_function(value: &Expr) -> bool {
    match value {
        Expr::Closure(_) => true,
        Expr::Path(path) if path.path.segments.len() > 1 => {
            let name = path.path.segments.last();
            name.is_some_and(|last| last.ident.to_string().starts_with(char::is_lowercase))
        }
        _ => false,
    }
}

/// The index of the choice.
pub(super) fn choice(value: &Expr, choices: &[&str]) -> Result<usize> {
    let text = match value {
        Expr::Lit(ExprLit {
            lit: Lit::Str(text),
            ..
        }) => Some(text.value()),
        _ => None,
    };
    let chosen = text.and_then(|text| choices.iter().position(|choice| *choice == text));
    chosen.ok_or_else(|| {
        let choices: Vec<_> = choices.iter().map(|choice| format!("{choice:?}")).collect();
        mistake(value, format!("this must be one of {}", choices.join(", ")))
    })
}

/// Checks a literal. Other expressions are checked when the query is sent.
pub(super) fn check_number(key: &Ident, value: &Expr, range: RangeInclusive<f64>) -> Result<()> {
    let (sign, literal) = match value {
        Expr::Unary(unary) if matches!(unary.op, syn::UnOp::Neg(_)) => {
            (-1.0, peel((*unary.expr).clone()))
        }
        other => (1.0, other.clone()),
    };
    let number: Option<f64> = match literal {
        Expr::Lit(ExprLit {
            lit: Lit::Int(int), ..
        }) => int.base10_parse().ok(),
        Expr::Lit(ExprLit {
            lit: Lit::Float(float),
            ..
        }) => float.base10_parse().ok(),
        _ => None,
    };
    match number {
        Some(number) if !range.contains(&(sign * number)) => {
            let what = format!("`{key}` must be from {} to {}", range.start(), range.end());
            Err(mistake(value, what))
        }
        _ => Ok(()),
    }
}
