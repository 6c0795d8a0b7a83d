//! What the document says of one endpoint.

use reflect_types::openapi::{id, new_project_id};
use reflect_types::{ErrorBody, IDEMPOTENCY_KEY, ListTraces};
use utoipa::ToSchema;
use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::path::{Operation, OperationBuilder, ParameterBuilder, ParameterIn};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::schema::{Array, ObjectBuilder, Schema, Type};
use utoipa::openapi::security::SecurityRequirement;
use utoipa::openapi::{Content, Ref, RefOr, Required, ResponseBuilder};

use crate::routes::Endpoint;

const JSON: &str = "application/json";

/// The errors of the operations.
const REFUSALS: [(&str, &str); 14] = [
    ("400", "The body is not JSON."),
    ("401", "The key is missing, unknown, revoked or expired."),
    (
        "403",
        "The key has no access to the project, not the scope, or fewer rights than the other key.",
    ),
    ("404", "Not found."),
    ("405", "The path does not support this method."),
    ("409", "The request conflicts with the stored state."),
    ("413", "The body is over the limit."),
    ("415", "The body is in an encoding other than gzip."),
    (
        "422",
        "A field is missing, of the wrong type or out of range.",
    ),
    (
        "429",
        "Too many requests with this key, or too many wrong keys from this address.",
    ),
    (
        "500",
        "Internal error: the server's log has the reason, under the request id.",
    ),
    ("502", "The server's model failed."),
    (
        "503",
        "Overloaded or shutting down; the request was not carried out.",
    ),
    ("504", "Timed out; the request may still be carried out."),
];

/// An endpoint as the document describes it.
pub(crate) struct Described {
    pub(crate) operation: Operation,
    pub(crate) schemas: Vec<(String, RefOr<Schema>)>,
}

impl Described {
    pub(crate) fn new(endpoint: &Endpoint) -> Self {
        let text: Vec<&str> = endpoint.text.lines().map(str::trim).collect();
        let operation = OperationBuilder::new()
            .operation_id(Some(endpoint.name))
            .summary(Some(text.join("\n")));
        let described = Self {
            operation: operation.build(),
            schemas: Vec::new(),
        };
        let ids = endpoint.path.split(['{', '}']).skip(1).step_by(2);
        let described = ids.fold(described.needs("key"), |described, name| {
            described.parameter(ParameterIn::Path, name, None, id())
        });
        let refusals = REFUSALS.into_iter();
        refusals.fold(described, |described, (status, text)| {
            described.replies::<ErrorBody>(status, text)
        })
    }

    /// Names the security scheme.
    pub(crate) fn needs(mut self, scheme: &str) -> Self {
        let scopes: [&str; 0] = [];
        self.operation.security = Some(vec![SecurityRequirement::new(scheme, scopes)]);
        self
    }

    /// Describes an endpoint that takes no input, and fails in few ways.
    pub(crate) fn needs_no_key(mut self) -> Self {
        self.operation.security = None;
        let responses = &mut self.operation.responses.responses;
        responses.retain(|status, _| ["405", "504"].contains(&&**status));
        self
    }

    pub(crate) fn creates_project(mut self) -> Self {
        if let Some([RefOr::T(project), ..]) = self.operation.parameters.as_deref_mut() {
            project.schema = Some(new_project_id());
        }
        self
    }

    pub(crate) fn query(self, name: &str, text: &str, schema: impl Into<RefOr<Schema>>) -> Self {
        self.parameter(ParameterIn::Query, name, Some(text), schema)
    }

    pub(crate) fn limit(self, default: u32, most: u32) -> Self {
        let limit = ObjectBuilder::new().schema_type(Type::Integer);
        let limit = limit.minimum(Some(1)).maximum(Some(most));
        let limit = limit.default(Some(default.into()));
        self.query("limit", "The maximum length of the page", limit)
    }

    pub(crate) fn idempotency_key(self) -> Self {
        let text = "One UUID per run: a repeated key stores nothing and returns the first receipt";
        let key = string().min_length(Some(1)).max_length(Some(255));
        let key = key.pattern(Some("^[!-~]+$"));
        self.parameter(ParameterIn::Header, IDEMPOTENCY_KEY, Some(text), key)
    }

    fn parameter(
        mut self,
        place: ParameterIn,
        name: &str,
        text: Option<&str>,
        schema: impl Into<RefOr<Schema>>,
    ) -> Self {
        let parameter = ParameterBuilder::new()
            .name(name)
            .parameter_in(place)
            .required(Required::False)
            .description(text)
            .schema(Some(schema));
        let parameters = self.operation.parameters.get_or_insert_default();
        parameters.push(parameter.build().into());
        self
    }

    pub(crate) fn takes<T: ToSchema>(self) -> Self {
        self.body::<T>(None, Required::True)
    }

    pub(crate) fn may_take<T: ToSchema>(self, text: &str) -> Self {
        self.body::<T>(Some(text), Required::False)
    }

    fn body<T: ToSchema>(mut self, text: Option<&str>, required: Required) -> Self {
        let content = Content::new(Some(self.reference::<T>()));
        let body = RequestBodyBuilder::new()
            .description(text)
            .required(Some(required))
            .content(JSON, content);
        self.operation.request_body = Some(body.build().into());
        self
    }

    pub(crate) fn gives<T: ToSchema>(self) -> Self {
        self.replies::<T>("200", "")
    }

    pub(crate) fn lists<T: ToSchema>(mut self) -> Self {
        let list = Array::new(self.reference::<T>());
        self.answers("200", "", list, None)
    }

    /// Gives a page of a list, with the address of the next one.
    pub(crate) fn pages<T: ToSchema>(mut self, default: u32) -> Self {
        let list = Array::new(self.reference::<T>());
        let link = ("Link", "The next page", string());
        self.answers("200", "", list, Some(link))
            .limit(default, ListTraces::MAX_LIMIT)
    }

    pub(crate) fn replies<T: ToSchema>(mut self, status: &str, text: &str) -> Self {
        let reply = self.reference::<T>();
        let seconds = ObjectBuilder::new().schema_type(Type::Integer);
        let wait = ("Retry-After", "Seconds to wait", seconds.minimum(Some(0)));
        let waits = ["429", "503"].contains(&status);
        self.answers(status, text, reply, waits.then_some(wait))
    }

    fn answers(
        mut self,
        status: &str,
        text: &str,
        schema: impl Into<RefOr<Schema>>,
        header: Option<(&str, &str, ObjectBuilder)>,
    ) -> Self {
        let mut response = ResponseBuilder::new()
            .description(text)
            .content(JSON, Content::new(Some(schema)));
        if let Some((name, text, schema)) = header {
            let header = HeaderBuilder::new().description(Some(text));
            response = response.header(name, header.schema(Some(schema)).build());
        }
        let responses = &mut self.operation.responses.responses;
        responses.insert(status.to_owned(), response.build().into());
        self
    }

    /// A reference to a type, whose schemas are added to the document.
    fn reference<T: ToSchema>(&mut self) -> Ref {
        T::schemas(&mut self.schemas);
        self.schemas.push((T::name().into_owned(), T::schema()));
        Ref::from_schema_name(T::name())
    }
}

pub(crate) fn string() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String)
}
