//! TLS by rustls with `ring`.

use std::sync::Arc;

use rustls::ClientConfig;
use rustls::crypto::ring;
use rustls_platform_verifier::BuilderVerifierExt;

use crate::client::BuildError;

/// Verifies servers as the platform does. The provider that the process may have installed is not asked.
pub(crate) fn config() -> Result<ClientConfig, BuildError> {
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(BuilderVerifierExt::with_platform_verifier)
        .map_err(BuildError::start)?;
    Ok(config.with_no_client_auth())
}
