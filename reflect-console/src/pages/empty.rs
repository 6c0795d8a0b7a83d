use crate::path::in_project;

/// The code that sends a first trace to this server.
#[derive(Clone, Debug)]
pub struct FirstTrace {
    /// The address of the server, as the browser sees it.
    pub base_url: String,
    /// The project.
    pub project: String,
    /// Whether the visitor may make a key.
    pub makes_keys: bool,
}

impl FirstTrace {
    /// Where a key is made.
    pub(crate) fn keys(&self) -> String {
        in_project(&self.project, &["keys"])
    }

    /// Three lines of Rust.
    pub(crate) fn rust(&self) -> String {
        format!(
            "let client = ReflectClient::builder().project({:?}).http({:?}, key)?;\n\
             let run = vec![Message::user(\"Refund order 7\"), Message::assistant(\"Refunded.\")];\n\
             client.create_trace(\"Refund order 7\", run).await?;",
            self.project, self.base_url
        )
    }

    /// The same for a terminal.
    pub(crate) fn curl(&self) -> String {
        let path = percent_encoding::utf8_percent_encode(
            &self.project,
            percent_encoding::NON_ALPHANUMERIC,
        );
        format!(
            "curl {}/v1/projects/{path}/traces \\\n  \
             -H \"Authorization: Bearer $REFLECT_API_KEY\" -H \"Content-Type: application/json\" \\\n  \
             -d '{{\"task\": \"Refund order 7\", \"trajectory\": [{{\"role\": \"assistant\", \
             \"content\": \"Refunded.\"}}]}}'",
            self.base_url
        )
    }
}
