//! Requests of the same shape.

/// Declares requests without parts.
macro_rules! without_parts {
    ($($(#[$meta:meta])* $name:ident;)+) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name;

        impl crate::Validate for $name {
            fn validate(&self) -> Result<(), crate::InvalidField> {
                Ok(())
            }
        }

        impl crate::Layout for $name {}
    )+};
}

/// Declares requests about one record, which its id in the path names.
macro_rules! about_one {
    ($(
        $(#[$meta:meta])*
        $name:ident($(#[$of_id:meta])* $id:ident: $kind:ident) $(sends $body:literal)?;
    )+) => {$(
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $name {
            $(#[$of_id])*
            pub $id: $kind,
        }

        impl $name {
            /// The request for this record.
            pub fn new($id: impl Into<$kind>) -> Self {
                Self { $id: $id.into() }
            }
        }

        impl crate::Validate for $name {
            fn validate(&self) -> Result<(), crate::InvalidField> {
                self.$id.validate()
            }
        }

        impl crate::Layout for $name {
            fn id(&self) -> Option<&str> {
                Some(self.$id.as_str())
            }

            $(fn body(&self) -> serde_json::Result<Vec<u8>> {
                Ok($body.to_vec())
            })?
        }
    )+};
}

/// Declares lists of records, newest first.
macro_rules! newest_first {
    ($($(#[$meta:meta])* $name:ident;)+) => {$(
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub struct $name {
            /// The maximum number of records, from 1 to 1,000; 100 by default.
            #[serde(default)]
            pub limit: Option<u32>,
            /// Only records older than this one: the last of the previous page.
            #[serde(default)]
            pub before: Option<String>,
        }

        impl $name {
            /// The default length of a page.
            pub const DEFAULT_LIMIT: u32 = 100;
            /// The maximum length of a page.
            pub const MAX_LIMIT: u32 = 1_000;
        }

        impl crate::Validate for $name {
            fn validate(&self) -> Result<(), crate::InvalidField> {
                crate::validate::page_limit(self.limit, Self::MAX_LIMIT)
            }
        }

        impl crate::Layout for $name {
            fn parameters(&self) -> Vec<(&'static str, String)> {
                let limit = self.limit.map(|limit| limit.to_string());
                crate::layout::given([("limit", limit), ("before", self.before.clone())])
            }
        }
    )+};
}

/// Sends requests as their JSON.
macro_rules! sent_as_json {
    ($($name:ty),+) => {$(
        impl crate::Layout for $name {
            fn body(&self) -> serde_json::Result<Vec<u8>> {
                serde_json::to_vec(self)
            }
        }
    )+};
}

pub(super) use {about_one, newest_first, sent_as_json, without_parts};
