use reflect_types::{CreateSkill, GetSkill};

use super::ReflectClient;
use super::call::Call;

impl<M> ReflectClient<M> {
    /// The project's skill: its memories condensed into one guide. `None` before the first one is
    /// written.
    pub fn get_skill(&self) -> Call<GetSkill, M> {
        self.call(GetSkill)
    }

    /// Writes a new version of the skill.
    pub fn create_skill(&self) -> Call<CreateSkill, M> {
        self.call(CreateSkill::default())
    }
}

impl<M> Call<CreateSkill, M> {
    /// The number of memories of passed runs to read; 5 by default.
    pub fn n_passed(self, n: u32) -> Self {
        self.set(|skill| skill.n_passed = Some(n))
    }

    /// The number of memories of failed runs to read; 5 by default.
    pub fn n_failed(self, n: u32) -> Self {
        self.set(|skill| skill.n_failed = Some(n))
    }
}
