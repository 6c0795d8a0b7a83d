use reflect_types::{QueryMemories, Validate as _};
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;

/// The arguments of `retrieve_memories`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::mcp) struct RetrieveMemories {
    /// The task you are about to do, in the user's own words.
    query: String,
    /// Maximum number of memories, from 1 to 20.
    #[serde(default = "RetrieveMemories::default_limit")]
    #[schemars(range(min = 1, max = 20))]
    limit: u32,
    /// Weight of utility against similarity: 0 is similarity alone, 1 utility alone. Leave it out.
    #[serde(default = "RetrieveMemories::default_lambda", alias = "lambda")]
    #[schemars(range(min = 0, max = 1))]
    lambda_: f64,
}

impl RetrieveMemories {
    const DEFAULT_LIMIT: u32 = 5;
    const MAX_LIMIT: u32 = 20;

    /// The memories for a task, with the defaults of the tool.
    pub(in crate::mcp) fn of(task: String) -> Self {
        Self {
            query: task,
            limit: Self::default_limit(),
            lambda_: Self::default_lambda(),
        }
    }

    /// The query. Its errors name the tool's own fields and limits.
    pub(in crate::mcp) fn into_query(self) -> Result<QueryMemories, String> {
        if !(1..=Self::MAX_LIMIT).contains(&self.limit) {
            return Err(format!(
                "`limit` must be from 1 to {}, got {}: leave it out for {}",
                Self::MAX_LIMIT,
                self.limit,
                Self::DEFAULT_LIMIT
            ));
        }
        let query = QueryMemories {
            limit: self.limit,
            lambda: self.lambda_,
            ..QueryMemories::new(self.query)
        };
        query.validate().map_err(|invalid| {
            let field = match invalid.field {
                "task" => "query",
                "lambda" => "lambda_",
                other => other,
            };
            format!("`{field}` {}", invalid.problem)
        })?;
        Ok(query)
    }

    fn default_limit() -> u32 {
        Self::DEFAULT_LIMIT
    }

    fn default_lambda() -> f64 {
        QueryMemories::DEFAULT_LAMBDA
    }
}
