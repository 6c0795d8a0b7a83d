//! Extractors whose errors name what is wrong with a request.
//!
//! They decode; the engine and the keys validate.

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, FromRequest, FromRequestParts, Request};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_ENCODING;
use axum::http::request::Parts;
use reflect_types::IDEMPOTENCY_KEY;
use serde::de::DeserializeOwned;

use crate::app::App;
use crate::error::ApiError;

/// A JSON body.
#[derive(Debug)]
pub(crate) struct Body<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<App> for Body<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> Result<Self, ApiError> {
        let body = read(request, app).await?;
        Ok(Self(json(&body)?))
    }
}

/// A JSON body with several times the usual size limit: it carries the data of many requests.
#[derive(Debug)]
pub(crate) struct LongBody<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<App> for LongBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> Result<Self, ApiError> {
        const FACTOR: usize = 4;

        let limit = app.settings().body_limit.saturating_mul(FACTOR);
        let body = read_up_to(limit, request, app).await?;
        Ok(Self(json(&body)?))
    }
}

/// An optional JSON body.
#[derive(Debug)]
pub(crate) struct OptionalBody<T>(pub(crate) T);

impl<T: DeserializeOwned + Default> FromRequest<App> for OptionalBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> Result<Self, ApiError> {
        let body = read(request, app).await?;
        if body.trim_ascii().is_empty() {
            return Ok(Self(T::default()));
        }
        Ok(Self(json(&body)?))
    }
}

/// The query parameters.
#[derive(Debug)]
pub(crate) struct Params<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<App> for Params<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, ApiError> {
        let pairs = parts.uri.query().unwrap_or_default();
        let pairs: Vec<(String, String)> = serde_urlencoded::from_str(pairs).map_err(|error| {
            ApiError::field("query", format!("the query string is malformed: {error}"))
        })?;
        let from = serde::de::value::MapDeserializer::<_, serde::de::value::Error>::new(
            pairs
                .into_iter()
                .map(|(name, value)| (name, Parameter(value))),
        );
        let read = serde_path_to_error::deserialize(from).map_err(|error| {
            misfit(
                "query",
                &error.path().to_string(),
                &error.inner().to_string(),
            )
        })?;
        Ok(Self(read))
    }
}

/// The idempotency key of a submission.
pub(crate) fn idempotency_key(headers: &HeaderMap) -> Option<String> {
    let key = headers.get(IDEMPOTENCY_KEY)?;
    // A lossy key keeps its invalid characters, which the request's validation refuses.
    Some(String::from_utf8_lossy(key.as_bytes()).trim().to_owned())
}

/// The raw body, up to the usual size limit.
pub(crate) async fn read(request: Request, app: &App) -> Result<Bytes, ApiError> {
    read_up_to(app.settings().body_limit, request, app).await
}

/// The raw body, up to this size.
pub(crate) async fn read_up_to(
    limit: usize,
    mut request: Request,
    app: &App,
) -> Result<Bytes, ApiError> {
    // Of a gzip body, the decompression has removed the header.
    if let Some(encoding) = request.headers().get(CONTENT_ENCODING)
        && encoding != "identity"
    {
        return Err(ApiError::unsupported_encoding(encoding));
    }
    DefaultBodyLimit::max(limit).apply(&mut request);
    let read = Bytes::from_request(request, app).await;
    read.map_err(|rejection| ApiError::unread(&rejection, limit))
}

/// Parses JSON: 400 if it is malformed, 422 with the field if it has another shape.
pub(crate) fn json<T: DeserializeOwned>(body: &[u8]) -> Result<T, ApiError> {
    let not_json =
        |error: serde_json::Error| ApiError::malformed(format!("the body is not JSON: {error}"));
    // The whole body, because serde does not check the strings it skips.
    let body = std::str::from_utf8(body)
        .map_err(|error| ApiError::malformed(format!("the body is not UTF-8: {error}")))?;
    let well_formed = || serde_json::from_str::<serde::de::IgnoredAny>(body).map_err(not_json);
    // Serde would accept an array as a struct, field by field.
    if !body.trim_start().starts_with('{') {
        well_formed()?;
        return Err(ApiError::field("body", "the body must be a JSON object"));
    }
    let mut from = serde_json::Deserializer::from_str(body);
    match serde_path_to_error::deserialize(&mut from) {
        Ok(read) => from.end().map(|()| read).map_err(not_json),
        Err(error) if error.inner().is_data() => {
            // Parsing stopped at the misfit; the rest may be malformed.
            well_formed()?;
            let path = error.path().to_string();
            Err(misfit("body", &path, &error.inner().to_string()))
        }
        Err(error) => Err(not_json(error.into_inner())),
    }
}

/// The error for a value of another shape. The name of a missing or duplicate field is in serde's
/// message, not in the path.
fn misfit(whole: &str, path: &str, message: &str) -> ApiError {
    let parent = Some(path).filter(|path| *path != ".");
    let named = ["missing field `", "duplicate field `"]
        .iter()
        .find_map(|prefix| message.strip_prefix(prefix))
        .and_then(|rest| rest.split_once('`'))
        .map(|(name, _)| name);
    let field = match (parent, named) {
        (Some(parent), Some(name)) => format!("{parent}.{name}"),
        (Some(field), None) | (None, Some(field)) => field.to_owned(),
        (None, None) => whole.to_owned(),
    };
    ApiError::field(field.clone(), format!("`{field}`: {message}"))
}

/// The text of a query parameter, which deserializes as text or as a number.
struct Parameter(String);

impl serde::de::IntoDeserializer<'_, serde::de::value::Error> for Parameter {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> serde::Deserializer<'de> for Parameter {
    type Error = serde::de::value::Error;

    fn deserialize_any<V: serde::de::Visitor<'de>>(self, to: V) -> Result<V::Value, Self::Error> {
        to.visit_string(self.0)
    }

    fn deserialize_option<V: serde::de::Visitor<'de>>(
        self,
        to: V,
    ) -> Result<V::Value, Self::Error> {
        to.visit_some(self)
    }

    fn deserialize_u32<V: serde::de::Visitor<'de>>(self, to: V) -> Result<V::Value, Self::Error> {
        match self.0.parse() {
            Ok(number) => to.visit_u32(number),
            Err(_) => Err(serde::de::Error::invalid_value(
                serde::de::Unexpected::Str(&self.0),
                &"a non-negative integer",
            )),
        }
    }

    fn deserialize_newtype_struct<V: serde::de::Visitor<'de>>(
        self,
        _: &'static str,
        to: V,
    ) -> Result<V::Value, Self::Error> {
        to.visit_newtype_struct(self)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}
