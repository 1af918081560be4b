//! The launch: the command provider's, under this provider's name.

use assize_plugin_sdk::{Conclusion, Description, Event, Launch, LaunchRequest, PluginError, Service, Step};

use crate::command::CommandLaunch;
use crate::task::{TASK_SCHEMA, TaskConfig};

/// Name of the provider.
const NAME: &str = "vscode-task";

/// One run of the configured task.
pub struct VscodeTaskLaunch(CommandLaunch);

impl Launch for VscodeTaskLaunch {
    fn describe() -> Description {
        Description {
            name: NAME.to_owned(),
            summary: "Runs a task of your editor on each packet of tasks".to_owned(),
            serves: vec![Service { kind: "provider".to_owned(), value: NAME.to_owned() }],
            config_schema: TASK_SCHEMA.to_owned(),
            // Windows of an editor work side by side, unlike a command of which nothing is known.
            extra: [("reviewer", "agent"), ("width", "8")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .to_vec(),
            ..CommandLaunch::describe()
        }
    }

    fn start(request: LaunchRequest) -> Result<Self, PluginError> {
        let config = TaskConfig::parse(&request.config)?.into_command().to_string();
        CommandLaunch::start(LaunchRequest { config, ..request }).map(Self)
    }

    fn next(&mut self, event: Option<Event>) -> Result<Step, PluginError> {
        Ok(match self.0.next(event)? {
            Step::Done(conclusion) => Step::Done(rename(conclusion)),
            step => step,
        })
    }
}

fn rename(mut conclusion: Conclusion) -> Conclusion {
    for evidence in &mut conclusion.evidence {
        evidence.provider = NAME.to_owned();
    }
    conclusion
}

#[cfg(test)]
mod tests {
    use super::*;
    use assize_plugin_sdk::transcript::check_transcripts;

    #[test]
    fn launches_follow_their_transcripts() {
        assert_eq!(check_transcripts::<VscodeTaskLaunch>(include_str!("../tests/transcripts.json")), Ok(14));
    }

    #[test]
    fn the_description_is_its_own() {
        let description = VscodeTaskLaunch::describe();
        assert_eq!((description.name.as_str(), description.serves[0].value.as_str()), (NAME, NAME));
        assert!(description.requests.is_empty(), "the program is known from the configuration alone");
        assert!(serde_json::from_str::<serde_json::Value>(&description.config_schema).is_ok());
    }
}
