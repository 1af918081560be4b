//! The launch: instructions for a person, and the end of it. The host keeps the tasks waiting and takes the answer in
//! a later run.

use assize_plugin_sdk::{
    Conclusion, Description, Effect, Event, Launch, LaunchRequest, Outcome, PluginError, Service, Step,
    conclude_failure, unexpected_event,
};

use crate::config::{CONFIG_SCHEMA, Config};
use crate::instructions::{INSTRUCTIONS_FILE, PROMPT_FILE, RESULTS_FILE, count_tasks, render_instructions};

/// Where the launch stands.
enum State {
    Planned(String),
    HandedOver,
    Ended,
}

/// One packet that is left to a person.
pub struct HandOffLaunch {
    state: State,
    run_id: String,
    tasks: usize,
}

impl Launch for HandOffLaunch {
    fn describe() -> Description {
        Description {
            name: "hand-off".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            summary: "Leaves each packet to a person or a conversation and takes the answer in a later run".to_owned(),
            license: env!("CARGO_PKG_LICENSE").to_owned(),
            serves: vec![Service { kind: "provider".to_owned(), value: "hand-off".to_owned() }],
            config_schema: CONFIG_SCHEMA.to_owned(),
            requests: Vec::new(),
            // Nobody waits while people work, so nothing is gained by handing over a few at a time.
            extra: [("reviewer", "person"), ("width", "512")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .to_vec(),
        }
    }

    fn start(request: LaunchRequest) -> Result<Self, PluginError> {
        let config = Config::parse(&request.config)?;
        let instructions = render_instructions(&request, &config.note);
        Ok(Self { state: State::Planned(instructions), tasks: request.tasks.len(), run_id: request.run_id })
    }

    fn next(&mut self, event: Option<Event>) -> Result<Step, PluginError> {
        match (std::mem::replace(&mut self.state, State::Ended), event) {
            (State::Planned(instructions), None) => {
                self.state = State::HandedOver;
                Ok(Step::Perform(Effect::HandOff(instructions)))
            }
            (State::HandedOver, Some(Event::HandedOff)) => Ok(Step::Done(self.conclude())),
            (State::HandedOver, Some(Event::Failed(failure))) => Ok(Step::Done(conclude_failure(&failure))),
            (State::Planned(_), event) => Err(unexpected_event(event.as_ref(), "the start")),
            (State::HandedOver, event) => Err(unexpected_event(event.as_ref(), "handed-off")),
            (State::Ended, event) => Err(unexpected_event(event.as_ref(), "nothing after the end")),
        }
    }
}

impl HandOffLaunch {
    /// The launch has not failed and has not answered: it is interrupted, and what is said beside that tells the host to
    /// let the tasks wait instead of asking again.
    fn conclude(&self) -> Conclusion {
        let message = format!(
            "{} of {} left to a person: read {INSTRUCTIONS_FILE} and {PROMPT_FILE} in its run directory, and write {RESULTS_FILE} there",
            count_tasks(self.tasks),
            self.run_id
        );
        let extra = vec![("handed-off".to_owned(), "true".to_owned())];
        Conclusion { extra, ..Conclusion::new(Outcome::Interrupted, message) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assize_plugin_sdk::transcript::check_transcripts;

    #[test]
    fn launches_follow_their_transcripts() {
        assert_eq!(check_transcripts::<HandOffLaunch>(include_str!("../tests/transcripts.json")), Ok(7));
    }

    #[test]
    fn nothing_is_asked_for_but_a_person() {
        let description = HandOffLaunch::describe();
        assert!(description.requests.is_empty());
        assert!(description.extra.contains(&("reviewer".to_owned(), "person".to_owned())));
        assert!(serde_json::from_str::<serde_json::Value>(&description.config_schema).is_ok());
    }

    #[test]
    fn the_message_names_the_tasks_that_wait_and_where() {
        let request = LaunchRequest { run_id: "r7".into(), prompt: "PROMPT-TEXT".into(), ..LaunchRequest::default() };
        let mut launch = HandOffLaunch::start(request).expect("it starts");
        launch.next(None).expect("a step");
        let Ok(Step::Done(end)) = launch.next(Some(Event::HandedOff)) else { panic!("it ends") };
        assert!(["0 tasks", "r7", "hand-off.md", "audit-results.json"].iter().all(|part| end.message.contains(part)));
        assert!(!end.message.contains("PROMPT-TEXT") && !end.message.contains('/'));
    }
}
