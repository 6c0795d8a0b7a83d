//! A return type that is a stream, or a `Result` of one.

use syn::{Path, Type, TypeParamBound};

use crate::erase::{anonymous, nameable};
use crate::private::Private;
use crate::visible::{STREAM, first_type, item_of_stream};

/// The stream that a function returns.
pub(crate) struct StreamType {
    /// Its type within the body, with `_` for `impl Stream`.
    pub(crate) declared: Type,
    pub(crate) item: Type,
    pub(crate) boxed: bool,
    /// Whether the function returns a `Result` of it.
    pub(crate) fallible: bool,
}

impl StreamType {
    /// The type as a stream, if it visibly is one. `opaque` says that it is an alias of a boxed one.
    pub(crate) fn of(ty: &Type, opaque: bool, private: &Private) -> Option<Self> {
        let (stream, fallible) = match ty {
            Type::Group(group) => return Self::of(&group.elem, opaque, private),
            Type::Paren(paren) => return Self::of(&paren.elem, opaque, private),
            Type::Path(path) => match ok_of(&path.path) {
                Some(ok) => (ok, true),
                None => (ty, false),
            },
            _ => (ty, false),
        };
        let declared = anonymous(stream);
        let projected = || item_of_stream(&declared, private);
        let mut seen = stream.clone();
        // With the option `stream`, a name such as `BoxStream` is the user's own alias.
        let seen = STREAM
            .of(&mut seen)
            .filter(|seen| !(opaque && seen.by_name));
        let (item, boxed) = match seen {
            Some(seen) if seen.by_name => (projected(), true),
            Some(seen) => (nameable(seen.output), seen.boxed || is_unpin(stream)),
            None if opaque => (projected(), true),
            None => return None,
        };
        Some(Self {
            declared,
            item,
            boxed,
            fallible,
        })
    }
}

/// The first type of a `Result`.
fn ok_of(path: &Path) -> Option<&Type> {
    let last = path.segments.last()?;
    first_type(last).filter(|_| last.ident == "Result")
}

/// Whether an `impl Stream` promises to be `Unpin`, as only a boxed one is.
fn is_unpin(ty: &Type) -> bool {
    let Type::ImplTrait(opaque) = ty else {
        return false;
    };
    opaque.bounds.iter().any(|bound| match bound {
        TypeParamBound::Trait(bound) => {
            let last = bound.path.segments.last();
            last.is_some_and(|last| last.ident == "Unpin")
        }
        _ => false,
    })
}
