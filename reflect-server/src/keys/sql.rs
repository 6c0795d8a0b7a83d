//! What the statements of keys ask of a database.

use async_trait::async_trait;
use reflect_engine::Result;

/// A value of a column.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Null,
    Text(String),
    Number(f64),
}

pub(super) type Row = Vec<Value>;

/// A statement whose values are `$1`, `$2` and so on.
#[derive(Clone, Debug)]
pub(super) struct Statement {
    pub(super) sql: String,
    pub(super) values: Vec<Value>,
}

/// A condition of a write: that a query finds a row, or none.
#[derive(Clone, Debug)]
pub(super) struct Guard {
    pub(super) query: Statement,
    pub(super) finds: bool,
}

/// A database of keys.
#[async_trait]
pub(super) trait Sql: Send + Sync + 'static {
    /// Its name in messages, without a password.
    fn name(&self) -> String;

    /// A query for one value: the name of the table `server_format`, or null if there is none.
    fn find_format(&self) -> &'static str;

    async fn read(&self, query: Statement) -> Result<Vec<Row>>;

    /// Executes statements, if the guard holds, in a transaction that waits for those of other servers: two of them
    /// cannot both be first. Returns the rows of the last statement.
    async fn write(
        &self,
        guard: Option<Guard>,
        statements: Vec<Statement>,
    ) -> Result<Option<Vec<Row>>>;
}

impl Statement {
    pub(super) fn new<const N: usize>(sql: impl Into<String>, values: [Value; N]) -> Self {
        Self {
            sql: sql.into(),
            values: values.into(),
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}
