use reflect_types::{CreateSkill, InvalidField, Skill, Validate};

use super::ReflectClient;
use super::call::{Call, CallContext, Operation};
use crate::error::Result;

/// Reads the skill; see [`ReflectClient::get_skill`].
#[derive(Clone, Debug)]
pub struct GetSkill(());

/// Writes the skill; see [`ReflectClient::create_skill`].
#[derive(Clone, Debug)]
pub struct WriteSkill(CreateSkill);

impl<M> ReflectClient<M> {
    /// The project's memories condensed into one guide; `None` where it was not written yet.
    ///
    /// ```no_run
    /// # async fn run(client: reflect_sdk::ReflectClient) -> reflect_sdk::Result<()> {
    /// if let Some(skill) = client.get_skill().await? {
    ///     println!("{}", skill.content);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn get_skill(&self) -> Call<GetSkill, M> {
        self.call(GetSkill(()))
    }

    /// Writes the guide anew, as its next version.
    ///
    /// ```no_run
    /// # async fn run(client: reflect_sdk::ReflectClient) -> reflect_sdk::Result<()> {
    /// let skill = client.create_skill().n_passed(10).n_failed(5).await?;
    /// println!("version {}", skill.version);
    /// # Ok(())
    /// # }
    /// ```
    pub fn create_skill(&self) -> Call<WriteSkill, M> {
        self.call(WriteSkill(CreateSkill::default()))
    }
}

impl<M> Call<WriteSkill, M> {
    /// How many memories of passed runs to read: 5 unless set.
    pub fn n_passed(self, n: u32) -> Self {
        self.set(|operation| operation.0.n_passed = Some(n))
    }

    /// How many memories of failed runs to read: 5 unless set.
    pub fn n_failed(self, n: u32) -> Self {
        self.set(|operation| operation.0.n_failed = Some(n))
    }
}

impl Operation for GetSkill {
    type Output = Option<Skill>;

    fn check(&self) -> Result<(), InvalidField> {
        Ok(())
    }

    async fn run(self, CallContext(core): CallContext) -> Result<Option<Skill>> {
        core.send(|| core.transport().get_skill(&core.project))
            .await
    }
}

impl Operation for WriteSkill {
    type Output = Skill;

    fn check(&self) -> Result<(), InvalidField> {
        self.0.validate()
    }

    async fn run(self, CallContext(core): CallContext) -> Result<Skill> {
        core.send_once(|| core.transport().create_skill(&core.project, &self.0))
            .await
    }
}
