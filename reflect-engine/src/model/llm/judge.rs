use async_trait::async_trait;
use reflect_models::JudgeRun;
use reflect_types::{Review, Trace};

use crate::model::{Error, Judge};

#[async_trait]
impl Judge for reflect_models::Judge {
    fn id(&self) -> &str {
        self.name()
    }

    async fn judge(&self, trace: &Trace) -> Result<Option<Review>, Error> {
        let opinion = self.judge(&JudgeRun::from(trace)).await?;
        Ok(self.review(&opinion))
    }
}
