//! Models configured by flags and environment variables.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::builder::FalseyValueParser;
use clap::{Args, Parser, value_parser};
use reflect_engine::Builder;
use reflect_engine::model::{LlmReflectionWriter, LlmSkillWriter, ModelEmbedder};
use reflect_models::{Client, Judge};
use secrecy::SecretString;

use crate::failure::Failure;
use crate::secret;

#[derive(Debug, Args)]
pub(crate) struct ModelOptions {
    /// The model that writes reflections and skills, such as `gpt-5.4-mini`. Without one they are
    /// extracted.
    #[arg(long, env = "REFLECT_LLM_MODEL", help_heading = MODELS)]
    llm_model: Option<String>,
    /// The base URL of an OpenAI-compatible API (default: OpenAI).
    #[arg(long, env = "REFLECT_LLM_BASE_URL", hide_env_values = true, help_heading = MODELS)]
    llm_base_url: Option<String>,
    /// The API key of the model. `OPENAI_API_KEY` is used for OpenAI.
    #[arg(
        long, env = "REFLECT_LLM_API_KEY", hide_env_values = true, value_parser = secret::parse,
        help_heading = MODELS
    )]
    llm_api_key: Option<SecretString>,
    /// A file containing the API key of the model.
    #[arg(long, env = "REFLECT_LLM_API_KEY_FILE", help_heading = MODELS)]
    llm_api_key_file: Option<PathBuf>,
    /// Timeout of one reply, in seconds.
    #[arg(
        long, env = "REFLECT_LLM_TIMEOUT", default_value_t = 25,
        value_parser = value_parser!(u64).range(1..), help_heading = MODELS
    )]
    llm_timeout: u64,
    /// Maximum concurrent requests to the model.
    #[arg(
        long, env = "REFLECT_LLM_CONCURRENCY", default_value = "8", help_heading = MODELS
    )]
    llm_concurrency: NonZeroUsize,
    /// Maximum tokens of a run in a prompt.
    #[arg(
        long, env = "REFLECT_LLM_MAX_PROMPT_TOKENS", default_value_t = 16_000,
        help_heading = MODELS
    )]
    llm_max_prompt_tokens: usize,
    /// Maximum tokens of a reply, reasoning included.
    #[arg(
        long, env = "REFLECT_LLM_MAX_COMPLETION_TOKENS", default_value_t = 2_000,
        help_heading = MODELS
    )]
    llm_max_completion_tokens: u32,
    /// Extract reflections and skills if the model fails.
    #[arg(
        long, env = "REFLECT_LLM_FALLBACK", value_parser = FalseyValueParser::new(),
        help_heading = MODELS
    )]
    llm_fallback: bool,
    /// Keep ids, names, mail addresses, and card and phone numbers in memories instead of replacing
    /// each by its role, such as `order_id`.
    #[arg(
        long, env = "REFLECT_KEEP_PERSONAL_VALUES", value_parser = FalseyValueParser::new(),
        help_heading = MODELS
    )]
    keep_personal_values: bool,
    /// The embedding model, such as `text-embedding-3-small`. Without one the bundled embedder is used.
    /// A change re-embeds the memories in the background.
    #[arg(long, env = "REFLECT_EMBEDDINGS_MODEL", help_heading = MODELS)]
    embeddings_model: Option<String>,
    /// The base URL of the embedding API (default: OpenAI).
    #[arg(long, env = "REFLECT_EMBEDDINGS_BASE_URL", hide_env_values = true, help_heading = MODELS)]
    embeddings_base_url: Option<String>,
    /// The API key of the embedding model. `OPENAI_API_KEY` is used for OpenAI.
    #[arg(
        long, env = "REFLECT_EMBEDDINGS_API_KEY", hide_env_values = true,
        value_parser = secret::parse, help_heading = MODELS
    )]
    embeddings_api_key: Option<SecretString>,
    /// A file containing the API key of the embedding model.
    #[arg(long, env = "REFLECT_EMBEDDINGS_API_KEY_FILE", help_heading = MODELS)]
    embeddings_api_key_file: Option<PathBuf>,
    /// Timeout of one batch of embeddings, in seconds.
    #[arg(
        long, env = "REFLECT_EMBEDDINGS_TIMEOUT", default_value_t = 10,
        value_parser = value_parser!(u64).range(1..), help_heading = MODELS
    )]
    embeddings_timeout: u64,
    /// Dimensions to request, for models that offer a choice.
    #[arg(long, env = "REFLECT_EMBEDDINGS_DIMENSIONS", help_heading = MODELS)]
    embeddings_dimensions: Option<u32>,
    /// Maximum tokens of an embedded text (default: 4,000). Local models often accept only 512.
    #[arg(long, env = "REFLECT_EMBEDDINGS_MAX_TOKENS", help_heading = MODELS)]
    embeddings_max_tokens: Option<usize>,
}

#[derive(Debug, Args)]
pub(crate) struct JudgeOptions {
    /// Let the model of `--llm-model` review pending runs. A person's review replaces a judge's.
    #[arg(
        long, env = "REFLECT_JUDGE", value_parser = FalseyValueParser::new(), help_heading = MODELS
    )]
    judge: bool,
    /// Criteria of a good run, beyond completing its task.
    #[arg(long, env = "REFLECT_JUDGE_RUBRIC", help_heading = MODELS)]
    judge_rubric: Option<String>,
    /// Learning rate of a judge's review, from 0 to 1.
    #[arg(
        long, env = "REFLECT_JUDGE_ALPHA", default_value_t = reflect_types::Review::JUDGE_ALPHA,
        help_heading = MODELS
    )]
    judge_alpha: f64,
}

const MODELS: &str = "Models";

/// The configured models.
#[derive(Clone, Debug, Default)]
pub(crate) struct Models {
    pub(crate) llm: Option<Client>,
    pub(crate) embeddings: Option<Client>,
    pub(crate) dimensions: Option<u32>,
    fallback: bool,
    keep_personal_values: bool,
    max_tokens: Option<usize>,
}

impl ModelOptions {
    /// Checks the options. No request is made.
    pub(crate) fn models(self) -> Result<Models, Failure> {
        let key = secret::read("--llm-api-key", self.llm_api_key, self.llm_api_key_file)?;
        let llm = client("--llm", self.llm_model, self.llm_base_url, key)?;
        let llm = llm.map(|llm| {
            llm.timeout(Duration::from_secs(self.llm_timeout))
                .concurrency(self.llm_concurrency.get())
                .max_prompt_tokens(self.llm_max_prompt_tokens)
                .max_completion_tokens(self.llm_max_completion_tokens)
        });
        let key = secret::read(
            "--embeddings-api-key",
            self.embeddings_api_key,
            self.embeddings_api_key_file,
        )?;
        let (model, url) = (self.embeddings_model, self.embeddings_base_url);
        let embeddings = client("--embeddings", model, url, key)?;
        let embeddings = embeddings
            .map(|embeddings| embeddings.timeout(Duration::from_secs(self.embeddings_timeout)));
        Ok(Models {
            llm: llm.map(built).transpose()?,
            embeddings: embeddings.map(built).transpose()?,
            fallback: self.llm_fallback,
            keep_personal_values: self.keep_personal_values,
            dimensions: self.embeddings_dimensions,
            max_tokens: self.embeddings_max_tokens,
        })
    }
}

impl JudgeOptions {
    /// The judge, if enabled.
    pub(crate) fn judge(self, models: &Models) -> Result<Option<Judge>, Failure> {
        if !self.judge {
            return Ok(None);
        }
        let Some(llm) = models.llm.clone() else {
            return Err(Failure::usage(
                "--judge needs a model: set --llm-model (REFLECT_LLM_MODEL)",
            ));
        };
        if !(0.0..=1.0).contains(&self.judge_alpha) {
            return Err(Failure::usage(format!(
                "--judge-alpha must be from 0 to 1, got {}",
                self.judge_alpha
            )));
        }
        let judge = Judge::new(llm).alpha(self.judge_alpha);
        Ok(Some(match self.judge_rubric {
            Some(rubric) => judge.rubric(rubric),
            None => judge,
        }))
    }
}

impl Models {
    /// The models that the environment configures, for commands that open a file.
    pub(crate) fn from_env() -> Result<Self, Failure> {
        #[derive(Debug, Parser)]
        struct Variables {
            #[command(flatten)]
            models: ModelOptions,
        }
        let variables = Variables::try_parse_from(["reflect"]);
        let variables = variables.map_err(|error| Failure::usage(reason(&error)))?;
        variables.models.models()
    }

    /// Adds the models to an engine.
    pub(crate) fn install(&self, mut engine: Builder) -> Builder {
        if let Some(llm) = &self.llm {
            let (mut reflector, mut writer) = (
                LlmReflectionWriter::new(llm.clone()),
                LlmSkillWriter::new(llm.clone()),
            );
            if self.fallback {
                (reflector, writer) = (reflector.or_extractive(), writer.or_extractive());
            }
            engine = engine
                .reflector(Arc::new(reflector))
                .skill_writer(Arc::new(writer));
        }
        if self.keep_personal_values {
            engine = engine.keep_personal_values();
        }
        if let Some(embeddings) = &self.embeddings {
            let mut embedder = ModelEmbedder::new(embeddings.clone());
            if let Some(dims) = self.dimensions {
                embedder = embedder.dimensions(dims);
            }
            if let Some(tokens) = self.max_tokens {
                embedder = embedder.max_tokens(tokens);
            }
            engine = engine.embedder(Arc::new(embedder));
        }
        engine
    }
}

fn client(
    flag: &str,
    model: Option<String>,
    url: Option<String>,
    key: Option<SecretString>,
) -> Result<Option<reflect_models::Builder>, Failure> {
    // An empty variable counts as unset.
    let is_set = |text: &String| !text.trim().is_empty();
    let (model, url) = (model.filter(is_set), url.filter(is_set));
    let Some(model) = model else {
        return match url {
            None => Ok(None),
            Some(_) => Err(Failure::usage(format!(
                "{flag}-base-url is set without a model: name one with {flag}-model"
            ))),
        };
    };
    let mut builder = Client::builder(model)
        // A synchronous review must finish within its request; slower ones are left to the queue.
        .attempts(2)
        .backoff(Duration::from_millis(500), Duration::from_secs(2));
    if let Some(url) = url {
        builder = builder.base_url(url);
    }
    if let Some(key) = key {
        builder = builder.api_key(key);
    }
    Ok(Some(builder.or_openai()))
}

fn built(builder: reflect_models::Builder) -> Result<Client, Failure> {
    builder
        .build()
        .map_err(|error| Failure::usage(error.to_string()))
}

/// The reason of a parse error, without clap's usage text.
fn reason(error: &clap::Error) -> String {
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    let reason = line.strip_prefix("error: ").unwrap_or(line);
    format!("{reason}: correct the corresponding REFLECT_… variable")
}
