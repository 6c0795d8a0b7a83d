use reflect_types::{
    ApiKey, CreateApiKey, CreatedApiKey, Environment, InvalidField, KeyId, Scope, Validate,
};

use super::ReflectClient;
use super::call::{Call, CallContext, Operation};
use crate::error::Result;

/// Lists the keys; see [`ReflectClient::list_api_keys`].
#[derive(Clone, Debug)]
pub struct ListKeys(());

/// Makes a key; see [`ReflectClient::create_api_key`].
#[derive(Clone, Debug)]
pub struct CreateKey(CreateApiKey);

/// Ends a key; see [`ReflectClient::revoke_api_key`].
#[derive(Clone, Debug)]
pub struct RevokeKey(KeyId);

impl<M> ReflectClient<M> {
    /// The project's keys, without their secrets.
    ///
    /// ```no_run
    /// # async fn run(client: reflect_sdk::ReflectClient) -> reflect_sdk::Result<()> {
    /// for key in client.list_api_keys().await? {
    ///     println!("{} {}", key.label, key.status);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn list_api_keys(&self) -> Call<ListKeys, M> {
        self.call(ListKeys(()))
    }

    /// Makes a key. Its text is in the answer, and nowhere else afterwards.
    ///
    /// ```no_run
    /// # use reflect_sdk::Scope;
    /// # async fn run(client: reflect_sdk::ReflectClient) -> reflect_sdk::Result<()> {
    /// let created = client
    ///     .create_api_key("nightly evaluation")
    ///     .scopes([Scope::MemoryRead, Scope::TraceWrite])
    ///     .await?;
    /// println!("keep this: {}", created.api_key);
    /// # Ok(())
    /// # }
    /// ```
    pub fn create_api_key(&self, label: impl Into<String>) -> Call<CreateKey, M> {
        self.call(CreateKey(CreateApiKey::new(label)))
    }

    /// Ends a key.
    ///
    /// ```no_run
    /// # async fn run(client: reflect_sdk::ReflectClient) -> reflect_sdk::Result<()> {
    /// let key = client.revoke_api_key("key-1").await?;
    /// println!("{} is {}", key.label, key.status);
    /// # Ok(())
    /// # }
    /// ```
    pub fn revoke_api_key(&self, key: impl Into<KeyId>) -> Call<RevokeKey, M> {
        self.call(RevokeKey(key.into()))
    }
}

impl<M> Call<CreateKey, M> {
    /// What the key may do.
    pub fn scopes(self, scopes: impl IntoIterator<Item = Scope>) -> Self {
        self.set(|operation| operation.0.scopes = scopes.into_iter().collect())
    }

    /// Live, unless set.
    pub fn environment(self, environment: Environment) -> Self {
        self.set(|operation| operation.0.environment = environment)
    }
}

impl Operation for ListKeys {
    type Output = Vec<ApiKey>;

    fn check(&self) -> Result<(), InvalidField> {
        Ok(())
    }

    async fn run(self, CallContext(core): CallContext) -> Result<Vec<ApiKey>> {
        core.send(|| core.transport().list_api_keys(&core.project))
            .await
    }
}

impl Operation for CreateKey {
    type Output = CreatedApiKey;

    fn check(&self) -> Result<(), InvalidField> {
        self.0.validate()
    }

    async fn run(self, CallContext(core): CallContext) -> Result<CreatedApiKey> {
        core.send_once(|| core.transport().create_api_key(&core.project, &self.0))
            .await
    }
}

impl Operation for RevokeKey {
    type Output = ApiKey;

    fn check(&self) -> Result<(), InvalidField> {
        self.0.validate()
    }

    async fn run(self, CallContext(core): CallContext) -> Result<ApiKey> {
        core.send(|| core.transport().revoke_api_key(&core.project, &self.0))
            .await
    }
}
