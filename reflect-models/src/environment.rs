use reflect_http::SecretString;

use crate::error::{Error, Result};
use crate::settings::Settings;

/// The use of a model, which decides the variables that configure it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Purpose {
    /// Writing and judging: `REFLECT_LLM_BASE_URL`, `REFLECT_LLM_MODEL`, `REFLECT_LLM_API_KEY`.
    Chat,
    /// Vectors: `REFLECT_EMBEDDINGS_BASE_URL`, `REFLECT_EMBEDDINGS_MODEL`,
    /// `REFLECT_EMBEDDINGS_API_KEY`.
    Embeddings,
}

impl Purpose {
    fn prefix(self) -> &'static str {
        match self {
            Self::Chat => "REFLECT_LLM",
            Self::Embeddings => "REFLECT_EMBEDDINGS",
        }
    }
}

/// The settings in the environment; `None` if it names neither a model nor an address.
pub(crate) fn settings(purpose: Purpose) -> Result<Option<Settings>> {
    settings_from(purpose, variable)
}

/// Fills in what is not set from `OPENAI_BASE_URL` and `OPENAI_API_KEY`. The key goes to OpenAI or to
/// `OPENAI_BASE_URL` only.
pub(crate) fn fill_in_openai(settings: &mut Settings) {
    fill_in_openai_from(settings, variable);
}

fn settings_from(
    purpose: Purpose,
    get: impl Fn(&str) -> Option<String>,
) -> Result<Option<Settings>> {
    let prefix = purpose.prefix();
    let own = |name: &str| get(&format!("{prefix}_{name}"));
    let (model, url) = (own("MODEL"), own("BASE_URL"));
    let Some(model) = model else {
        return match url {
            None => Ok(None),
            Some(_) => Err(Error::Config(format!(
                "{prefix}_BASE_URL is set, but no model: name one with {prefix}_MODEL"
            ))),
        };
    };
    let mut settings = Settings::new(model);
    settings.base_url = url;
    settings.api_key = own("API_KEY").map(SecretString::from);
    fill_in_openai_from(&mut settings, get);
    Ok(Some(settings))
}

fn fill_in_openai_from(settings: &mut Settings, get: impl Fn(&str) -> Option<String>) {
    let known = get("OPENAI_BASE_URL");
    if settings.base_url.is_none() {
        settings.base_url.clone_from(&known);
    }
    if settings.api_key.is_none() {
        let trusted = |known: &str| settings.is_at(known);
        if settings.is_openai() || known.as_deref().is_some_and(trusted) {
            settings.api_key = get("OPENAI_API_KEY").map(SecretString::from);
        }
    }
}

fn variable(name: &str) -> Option<String> {
    let value = std::env::var(name).ok()?;
    let value = value.trim();
    (!value.is_empty()).then(|| value.to_owned())
}

#[cfg(test)]
mod tests {
    use reflect_http::ExposeSecret;

    use super::*;

    fn read(purpose: Purpose, variables: &[(&str, &str)]) -> Result<Option<Settings>> {
        settings_from(purpose, |name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    fn key(variables: &[(&str, &str)]) -> Option<String> {
        let settings = read(Purpose::Chat, variables).unwrap().unwrap();
        settings.api_key.map(|key| key.expose_secret().to_owned())
    }

    #[test]
    fn a_key_alone_configures_nothing() {
        let settings = read(Purpose::Chat, &[("OPENAI_API_KEY", "sk")]);
        assert!(settings.unwrap().is_none());
    }

    #[test]
    fn an_address_without_a_model_is_an_error_that_names_the_variable() {
        let error = read(
            Purpose::Embeddings,
            &[("REFLECT_EMBEDDINGS_BASE_URL", "http://x/v1")],
        );
        let error = error.err().unwrap().to_string();
        assert!(error.contains("REFLECT_EMBEDDINGS_MODEL"), "{error}");
    }

    #[test]
    fn the_key_of_openai_goes_to_openai_only() {
        let openai = ("OPENAI_API_KEY", "sk");
        let model = ("REFLECT_LLM_MODEL", "m");
        assert_eq!(key(&[openai, model]).as_deref(), Some("sk"));

        let elsewhere = ("REFLECT_LLM_BASE_URL", "http://localhost:11434/v1");
        assert_eq!(key(&[openai, model, elsewhere]), None);

        let known = ("OPENAI_BASE_URL", "http://localhost:11434/v1/");
        let same = key(&[openai, model, elsewhere, known]);
        assert_eq!(same.as_deref(), Some("sk"));

        let own = ("REFLECT_LLM_API_KEY", "mine");
        assert_eq!(key(&[openai, model, own]).as_deref(), Some("mine"));
    }
}
