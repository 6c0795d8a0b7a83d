#![doc = include_str!("../README.md")]

mod address;
mod client;
mod error;
mod header;
mod received;
mod redact;
mod refusal;
mod reply;
mod request;
mod retry_after;
#[cfg(feature = "rustls-ring")]
mod ring;

pub use address::AddressError;
pub use client::{BuildError, Builder, Client};
pub use error::{Error, NoReply, NoReplyKind, Result};
pub use header::InvalidHeader;
pub use redact::Redactor;
pub use refusal::Refusal;
pub use reply::Reply;
pub use request::Request;
pub use reqwest::{Method, Url};
pub use secrecy::{ExposeSecret, SecretString};
