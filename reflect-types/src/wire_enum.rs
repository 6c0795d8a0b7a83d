//! Enums that travel as strings and survive values newer than this version.

/// Declares a string enum whose unknown values are kept in `Other`, so that they round-trip.
macro_rules! wire_enum {
    (
        $(#[$meta:meta])*
        pub enum $name:ident {
            $( $(#[$variant_meta:meta])* $variant:ident = $text:literal, )+
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $( $(#[$variant_meta])* $variant, )+
            /// An unknown value, preserved as received.
            Other(String),
        }

        impl $name {
            /// Every value this version knows.
            pub const KNOWN: &'static [Self] = &[$(Self::$variant,)+];

            /// The wire representation.
            pub fn as_str(&self) -> &str {
                match self {
                    $( Self::$variant => $text, )+
                    Self::Other(text) => text,
                }
            }

            /// Whether this version knows the value.
            pub fn is_known(&self) -> bool {
                !matches!(self, Self::Other(_))
            }

            /// The value of a text that a person wrote; an unknown one is refused with the known ones.
            pub fn parse_known(text: &str) -> Result<Self, String> {
                let value = Self::from(text);
                if value.is_known() {
                    return Ok(value);
                }
                let known = $crate::wire_enum::alternatives(&[$($text,)+]);
                Err(format!("write {known}"))
            }

            /// Refuses an unknown value in a field of a request.
            #[allow(dead_code, reason = "some values are in replies only")]
            pub(crate) fn check(
                field: &'static str,
                value: Option<&Self>,
            ) -> Result<(), $crate::InvalidField> {
                let Some(Self::Other(other)) = value else {
                    return Ok(());
                };
                let known = $crate::wire_enum::alternatives(&[$($text,)+]);
                let problem = format!("must be {known}, got `{other}`");
                Err($crate::InvalidField::new(field, problem))
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                match text {
                    $( $text => Self::$variant, )+
                    other => Self::Other(other.to_owned()),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        #[cfg(feature = "openapi")]
        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
                $crate::openapi::one_of(Self::KNOWN.iter().map(Self::as_str))
            }
        }

        #[cfg(feature = "openapi")]
        impl utoipa::ToSchema for $name {}

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(from)?;
                Ok(Self::from(&*text))
            }
        }
    };
}

/// These values, as alternatives.
pub(crate) fn alternatives(known: &[&str]) -> String {
    let quoted: Vec<String> = known.iter().map(|text| format!("`{text}`")).collect();
    match quoted.as_slice() {
        [others @ .., last] if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        only => only.concat(),
    }
}

pub(crate) use wire_enum;
