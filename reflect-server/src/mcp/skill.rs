//! The project's skill as a resource.

use rmcp::ErrorData;
use rmcp::model::{
    ListResourcesResult, ReadResourceResponse, ReadResourceResult, Resource, ResourceContents,
};
use serde_json::{Value, json};

use super::bank::Bank;

/// The address of the skill.
const URI: &str = "reflect://skill";
const MARKDOWN: &str = "text/markdown";
const NONE_YET: &str = "the project has no skill yet: `reflect skill create` and the console write one \
                        from its memories";

/// The list of resources.
pub(super) fn listed() -> ListResourcesResult {
    let skill = Resource::new(URI, "skill")
        .with_title("Skill")
        .with_description("One guide, condensed from all that the project's runs taught")
        .with_mime_type(MARKDOWN);
    ListResourcesResult::with_all_items(vec![skill])
}

/// The contents of a resource.
pub(super) async fn read(bank: &dyn Bank, uri: &str) -> Result<ReadResourceResponse, ErrorData> {
    if uri != URI {
        return Err(ErrorData::resource_not_found(
            format!("there is no resource `{uri}`: the only one is `{URI}`"),
            None,
        ));
    }
    let skill = bank.skill().await;
    let skill = skill.map_err(|refusal| ErrorData::invalid_request(refusal, None))?;
    let skill = skill.ok_or_else(|| ErrorData::resource_not_found(NONE_YET, None))?;
    let contents = ResourceContents::text(skill.content, URI).with_mime_type(MARKDOWN);
    Ok(ReadResourceResult::new(vec![contents]).into())
}

/// The skill as the result of a tool.
pub(super) async fn fields(bank: &dyn Bank) -> Result<Value, String> {
    let skill = bank.skill().await?.ok_or(NONE_YET)?;
    Ok(json!({
        "content": skill.content,
        "version": skill.version,
        "created_at": skill.created_at,
    }))
}
