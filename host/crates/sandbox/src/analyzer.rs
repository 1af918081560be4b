//! Calls of analyzers.

use assize_core::fact::{Fact, FileFacts, Observation, Relation};
use assize_core::plugin::PluginKind;

use crate::bindings::analyzer::{GuestIndices, SourceFile};
use crate::call::{CallContext, bounded};
use crate::convert;
use crate::error::CallError;
use crate::plugin::{Calls, Plugin};

impl Plugin {
    /// Facts of one file. `language` is empty when it is unknown; `config` is the analyzer's section as JSON.
    ///
    /// # Errors
    ///
    /// Of the call, of the plugin, or that this is not an analyzer.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime with time enabled, as all calls.
    pub async fn inspect(
        &self,
        path: &str,
        language: &str,
        content: &[u8],
        config: &str,
        call: &CallContext,
    ) -> Result<Vec<Fact>, CallError> {
        let indices = self.analyzer()?;
        let mut session = self.open(call).await?;
        let file = SourceFile {
            path: path.to_owned(),
            language: language.to_owned(),
            content: content.to_owned(),
            extra: Vec::new(),
        };
        let result = match indices.load(&mut session.store, &session.instance) {
            Ok(guest) => bounded(session.deadline(), guest.call_inspect(&mut session.store, &file, config)).await,
            Err(error) => Err(error),
        };
        let facts = session.end(result)?.map_err(|error| self.refusal(error))?;
        Ok(facts.into_iter().map(convert::fact).collect())
    }

    /// Relations among files, from their facts. `paths` are all files of the inventory.
    ///
    /// # Errors
    ///
    /// As [`Plugin::inspect`].
    pub async fn relate(
        &self,
        files: &[FileFacts],
        paths: &[String],
        config: &str,
        call: &CallContext,
    ) -> Result<Vec<Relation>, CallError> {
        let indices = self.analyzer()?;
        let files: Vec<_> = files.iter().map(convert::file_facts_in).collect();
        let mut session = self.open(call).await?;
        let result = match indices.load(&mut session.store, &session.instance) {
            Ok(guest) => {
                bounded(session.deadline(), guest.call_relate(&mut session.store, &files, paths, config)).await
            }
            Err(error) => Err(error),
        };
        let relations = session.end(result)?.map_err(|error| self.refusal(error))?;
        Ok(relations.into_iter().map(convert::relation).collect())
    }

    /// Observations of a report that another tool wrote.
    ///
    /// # Errors
    ///
    /// As [`Plugin::inspect`].
    pub async fn import_report(
        &self,
        format: &str,
        content: &[u8],
        call: &CallContext,
    ) -> Result<Vec<Observation>, CallError> {
        let indices = self.analyzer()?;
        let mut session = self.open(call).await?;
        let result = match indices.load(&mut session.store, &session.instance) {
            Ok(guest) => {
                bounded(session.deadline(), guest.call_import_report(&mut session.store, format, content)).await
            }
            Err(error) => Err(error),
        };
        let observations = session.end(result)?.map_err(|error| self.refusal(error))?;
        Ok(observations.into_iter().map(convert::observation).collect())
    }

    fn analyzer(&self) -> Result<&GuestIndices, CallError> {
        match self.calls() {
            Calls::Analyzer(indices) => Ok(indices),
            _ => Err(self.wrong_kind(PluginKind::Analyzer)),
        }
    }
}
