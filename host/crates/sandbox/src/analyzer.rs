//! Calls of analyzers.

use assize_core::fact::{Fact, FileFacts, Observation, Relation};
use assize_core::plugin::PluginKind;

use crate::bindings::analyzer::{Guest, GuestIndices, SourceFile};
use crate::call::{CallContext, Session, bounded};
use crate::convert;
use crate::error::CallError;
use crate::plugin::{Calls, Plugin};

/// Files that one instance serves. An instance costs more than a small file does, and this many make that cost small.
const FILES_OF_AN_INSTANCE: u32 = 64;

/// Inspects files one after another. An instance serves several, each under its own limits; a call that fails in a used
/// instance is made again in a new one, so that no file has to suffer for those before it.
pub struct Inspector {
    plugin: Plugin,
    config: String,
    call: CallContext,
    open: Option<Open>,
}

/// An instance and how many files it has served.
struct Open {
    session: Session,
    guest: Guest,
    served: u32,
}

impl Inspector {
    /// Facts of one file. `language` is empty when it is unknown.
    ///
    /// # Errors
    ///
    /// Of the call, or of the plugin.
    pub async fn inspect(&mut self, path: &str, language: &str, content: &[u8]) -> Result<Vec<Fact>, CallError> {
        let file = SourceFile {
            path: path.to_owned(),
            language: language.to_owned(),
            content: content.to_owned(),
            extra: Vec::new(),
        };
        if self.open.as_ref().is_some_and(|open| open.served >= FILES_OF_AN_INSTANCE) {
            self.open = None;
        }
        let used = self.open.is_some();
        match self.try_inspect(&file).await {
            Err(CallError::Limit { .. } | CallError::Trap { .. }) if used => self.try_inspect(&file).await,
            result => result,
        }
    }

    async fn try_inspect(&mut self, file: &SourceFile) -> Result<Vec<Fact>, CallError> {
        // Whatever ends this function early leaves no instance behind.
        let mut open = match self.open.take() {
            Some(mut open) => {
                open.session.renew();
                open
            }
            None => instantiate(&self.plugin, &self.call).await?,
        };
        let Open { session, guest, served } = &mut open;
        *served += 1;
        let deadline = session.deadline();
        let result = bounded(deadline, guest.call_inspect(&mut session.store, file, &self.config)).await;
        let answer = session.end(result)?;
        self.open = Some(open);
        let facts = answer.map_err(|error| self.plugin.refusal(error))?;
        Ok(facts.into_iter().map(convert::fact).collect())
    }
}

async fn instantiate(plugin: &Plugin, call: &CallContext) -> Result<Open, CallError> {
    let indices = plugin.analyzer()?;
    let mut session = plugin.open(call).await?;
    let loaded = indices.load(&mut session.store, &session.instance);
    let guest = session.end(loaded)?;
    Ok(Open { session, guest, served: 0 })
}

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
        self.inspector(config, call)?.inspect(path, language, content).await
    }

    /// Inspects many files one after another with the same configuration, in instances that serve some files each.
    ///
    /// # Errors
    ///
    /// That this is not an analyzer.
    pub fn inspector(&self, config: &str, call: &CallContext) -> Result<Inspector, CallError> {
        self.analyzer()?;
        Ok(Inspector { plugin: self.clone(), config: config.to_owned(), call: call.clone(), open: None })
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
