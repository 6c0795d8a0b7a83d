//! Reading requests so that what is wrong with one is named.

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use reflect_types::{IDEMPOTENCY_KEY, Validate};
use serde::de::DeserializeOwned;

use crate::app::App;
use crate::error::ApiError;

/// A JSON body that was read and is in range.
#[derive(Debug)]
pub(crate) struct Body<T>(pub(crate) T);

impl<T: DeserializeOwned + Validate> FromRequest<App> for Body<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> Result<Self, ApiError> {
        let body = read(request, app).await?;
        Ok(Self(checked(json(&body)?)?))
    }
}

/// A JSON body that may be several times as long as others: it holds what many requests brought.
#[derive(Debug)]
pub(crate) struct LongBody<T>(pub(crate) T);

impl<T: DeserializeOwned + Validate> FromRequest<App> for LongBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> Result<Self, ApiError> {
        const TIMES: usize = 4;

        let limit = app.settings().body_limit.saturating_mul(TIMES);
        let body = read_up_to(limit, request, app).await?;
        Ok(Self(checked(json(&body)?)?))
    }
}

/// A JSON body that may be left out.
#[derive(Debug)]
pub(crate) struct OptionalBody<T>(pub(crate) T);

impl<T: DeserializeOwned + Validate + Default> FromRequest<App> for OptionalBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> Result<Self, ApiError> {
        let body = read(request, app).await?;
        if body.trim_ascii().is_empty() {
            return Ok(Self(T::default()));
        }
        Ok(Self(checked(json(&body)?)?))
    }
}

/// The parameters behind the `?`, read and in range.
#[derive(Debug)]
pub(crate) struct Params<T>(pub(crate) T);

impl<T: DeserializeOwned + Validate> FromRequestParts<App> for Params<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, ApiError> {
        let pairs = parts.uri.query().unwrap_or_default();
        let pairs: Vec<(String, String)> = serde_urlencoded::from_str(pairs)
            .map_err(|error| ApiError::field("query", format!("the query is no form: {error}")))?;
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
        Ok(Self(checked(read)?))
    }
}

/// The caller's name for this very submission.
#[derive(Debug)]
pub(crate) struct IdempotencyKey(pub(crate) Option<String>);

impl FromRequestParts<App> for IdempotencyKey {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, ApiError> {
        const LONGEST: usize = 255;

        let Some(header) = parts.headers.get(IDEMPOTENCY_KEY) else {
            return Ok(Self(None));
        };
        let text = header.to_str().map(str::trim).unwrap_or_default();
        if text.is_empty() || text.len() > LONGEST {
            return Err(ApiError::field(
                IDEMPOTENCY_KEY,
                format!(
                    "`{IDEMPOTENCY_KEY}` must be 1 to {LONGEST} visible ASCII characters: a UUID per trace is best"
                ),
            ));
        }
        Ok(Self(Some(text.to_owned())))
    }
}

/// The body as it is.
pub(crate) async fn read(request: Request, app: &App) -> Result<Bytes, ApiError> {
    read_up_to(app.settings().body_limit, request, app).await
}

async fn read_up_to(limit: usize, mut request: Request, app: &App) -> Result<Bytes, ApiError> {
    DefaultBodyLimit::max(limit).apply(&mut request);
    let read = Bytes::from_request(request, app).await;
    read.map_err(|rejection| ApiError::unread(&rejection, limit))
}

/// Reads JSON: 400 where it is none, 422 with the field where it is of another shape.
fn json<T: DeserializeOwned>(body: &[u8]) -> Result<T, ApiError> {
    let not_json =
        |error: serde_json::Error| ApiError::malformed(format!("the body is not JSON: {error}"));
    // All of it, because what is skipped is not looked at.
    let body = std::str::from_utf8(body)
        .map_err(|error| ApiError::malformed(format!("the body is not UTF-8: {error}")))?;
    let well_formed = || serde_json::from_str::<serde::de::IgnoredAny>(body).map_err(not_json);
    // Serde would take a list for a struct, field by field.
    if !body.trim_start().starts_with('{') {
        well_formed()?;
        return Err(ApiError::field("body", "the body must be a JSON object"));
    }
    let mut from = serde_json::Deserializer::from_str(body);
    match serde_path_to_error::deserialize(&mut from) {
        Ok(read) => from.end().map(|()| read).map_err(not_json),
        Err(error) if error.inner().is_data() => {
            // It stopped at the misfit; what comes after may be no JSON at all.
            well_formed()?;
            let path = error.path().to_string();
            Err(misfit("body", &path, &error.inner().to_string()))
        }
        Err(error) => Err(not_json(error.into_inner())),
    }
}

fn checked<T: Validate>(request: T) -> Result<T, ApiError> {
    request.validate()?;
    Ok(request)
}

/// Names the field: one that is missing, or there twice, stands in the message, not in the path.
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

/// A parameter's text, which is read as the number that is asked for.
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
                &"a whole number, not below 0",
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
