//! The launch: one `analyze` effect a task, then one answer for all of them.

use std::collections::BTreeSet;

use assize_plugin_sdk::{
    Analyze, Conclusion, Description, Effect, Event, Failure, Launch, LaunchRequest, Outcome, PluginError, Service,
    Step, Task, derive_one_line, unexpected_event,
};

use crate::answer::{AuditResult, render_result};

/// Schema of the configuration section: there is nothing to configure.
const CONFIG_SCHEMA: &str = r#"{"type":"object","properties":{},"additionalProperties":false}"#;

/// A review by rules.
pub struct Review {
    tasks: Vec<Task>,
    results: Vec<AuditResult>,
    /// Whether the task after the last result has been asked for.
    asked: bool,
}

impl Launch for Review {
    fn describe() -> Description {
        Description {
            name: "rules".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            summary: "Reviews with the rules of the analyzers alone: no model, no program, no network".to_owned(),
            license: env!("CARGO_PKG_LICENSE").to_owned(),
            serves: vec![Service { kind: "provider".to_owned(), value: "rules".to_owned() }],
            config_schema: CONFIG_SCHEMA.to_owned(),
            requests: Vec::new(),
            extra: vec![("reviewer".to_owned(), "rules".to_owned())],
        }
    }

    fn start(request: LaunchRequest) -> Result<Self, PluginError> {
        Ok(Self { tasks: request.tasks, results: Vec::new(), asked: false })
    }

    fn next(&mut self, event: Option<Event>) -> Result<Step, PluginError> {
        match (self.asked, event) {
            (false, None) => {}
            (true, Some(Event::Analyzed(observations))) => {
                let Some(task) = self.tasks.get(self.results.len()) else {
                    return Err(PluginError::Internal("an answer came for no task".to_owned()));
                };
                self.results.push(render_result(task, observations));
            }
            (true, Some(Event::Failed(failure))) => return Ok(Step::Done(self.conclude_failed(&failure))),
            (asked, event) => {
                return Err(unexpected_event(event.as_ref(), if asked { "analyzed" } else { "the start" }));
            }
        }
        let Some(task) = self.tasks.get(self.results.len()) else {
            return self.conclude().map(Step::Done);
        };
        self.asked = true;
        Ok(Step::Perform(Effect::Analyze(plan_analysis(task))))
    }
}

impl Review {
    fn conclude(&self) -> Result<Conclusion, PluginError> {
        let results = serde_json::to_string(&self.results).map_err(|error| PluginError::Internal(error.to_string()))?;
        let findings: usize = self.results.iter().map(|result| result.findings.len()).sum();
        let message = format!("rules reviewed {} task(s): {findings} finding(s)", self.results.len());
        Ok(Conclusion { results: Some(results), ..Conclusion::new(Outcome::Completed, message) })
    }

    fn conclude_failed(&self, failure: &Failure) -> Conclusion {
        let outcome = match failure.kind.as_str() {
            "interrupted" => Outcome::Interrupted,
            "timeout" => Outcome::TimedOut,
            _ => Outcome::Crashed,
        };
        let task = self.tasks.get(self.results.len()).map_or("", |task| task.task_id.as_str());
        let said = derive_one_line(&failure.message, 300);
        Conclusion::new(outcome, format!("the analysis for task {task} failed ({}): {said}", failure.kind))
    }
}

fn plan_analysis(task: &Task) -> Analyze {
    let paths: BTreeSet<&str> = task.files.iter().map(|file| file.path.as_str()).collect();
    Analyze {
        paths: paths.into_iter().map(str::to_owned).collect(),
        lens: Some(task.lens.clone()),
        analyzers: Vec::new(),
        extra: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assize_plugin_sdk::transcript::check_transcripts;

    #[test]
    fn launches_follow_their_transcripts() {
        assert_eq!(check_transcripts::<Review>(include_str!("../tests/transcripts.json")), Ok(5));
    }

    #[test]
    fn results_are_one_a_task_in_the_order_of_the_tasks() {
        let task = |id: &str| Task { task_id: id.into(), lens: "security".into(), ..Task::default() };
        let request = LaunchRequest { tasks: vec![task("b"), task("a")], ..LaunchRequest::default() };
        let mut launch = Review::start(request).expect("it starts");
        let mut step = launch.next(None);
        let mut steps = 1;
        while let Ok(Step::Perform(_)) = step {
            step = launch.next(Some(Event::Analyzed(Vec::new())));
            steps += 1;
        }
        let Ok(Step::Done(conclusion)) = step else { panic!("it ends") };
        let results: serde_json::Value = serde_json::from_str(&conclusion.results.expect("results")).expect("JSON");
        assert_eq!(results[0]["task_id"], "b");
        assert_eq!(results[1]["task_id"], "a");
        assert_eq!(steps, 3);
    }

    #[test]
    fn the_description_asks_for_nothing_and_its_schema_is_json() {
        let description = Review::describe();
        assert!(description.requests.is_empty());
        assert!(serde_json::from_str::<serde_json::Value>(&description.config_schema).is_ok());
    }
}
