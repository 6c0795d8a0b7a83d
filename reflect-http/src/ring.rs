//! TLS by rustls with `ring`.

use std::sync::Arc;

use rustls::crypto::ring;
use rustls::{ClientConfig, Error};
use rustls_platform_verifier::BuilderVerifierExt;

/// Verifies servers as the platform does. The provider that the process may have installed is not asked.
pub(crate) fn config() -> Result<ClientConfig, Error> {
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(BuilderVerifierExt::with_platform_verifier)?;
    Ok(config.with_no_client_auth())
}
