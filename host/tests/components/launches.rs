//! Launches as tests drive them: a request with nothing special in it, one effect, one event, one end.

use assize_core::plugin::{
    Conclusion, Effect, EffectEvent, Exited, LaunchRequest, PluginError, RunProgram, Step, Value,
};
use assize_sandbox::{CallError, Launch, Plugin};

use crate::catalog::{call, provider};

/// The prompt of every request here.
pub const PROMPT: &str = "PROMPT-TEXT of the packet";

/// A request with this configuration section.
pub fn request(config: &str) -> LaunchRequest {
    LaunchRequest {
        run_id: "launch-7".to_owned(),
        attempt: 1,
        tasks: Vec::new(),
        prompt: PROMPT.to_owned(),
        results_schema: "{}".to_owned(),
        read_paths: Vec::new(),
        model: None,
        timeout_ms: 9_000,
        estimated_input_tokens: 1,
        config: config.to_owned(),
        now_ms: call().now_ms,
        extra: Vec::new(),
    }
}

/// The next effect of a launch.
pub async fn effect(launch: &mut Launch, event: Option<EffectEvent>) -> Effect {
    match launch.next(event).await.unwrap() {
        Step::Perform(effect) => effect,
        Step::Done(conclusion) => panic!("it is over: {conclusion:?}"),
    }
}

/// The end of a launch that this event brings.
pub async fn conclusion(launch: &mut Launch, event: EffectEvent) -> Conclusion {
    match launch.next(Some(event)).await.unwrap() {
        Step::Done(conclusion) => conclusion,
        Step::Perform(effect) => panic!("it goes on: {effect:?}"),
    }
}

/// The program that the provider runs, and the launch that waits for its end.
pub async fn program(plugin: &Plugin, request: LaunchRequest) -> (RunProgram, Launch) {
    let mut launch = plugin.start_launch(request, &call()).await.unwrap();
    match effect(&mut launch, None).await {
        Effect::RunProgram(run) => (run, launch),
        other => panic!("{other:?}"),
    }
}

/// What the provider concludes when its program ends like this.
pub async fn ends(name: &str, config: &str, exited: Exited) -> Conclusion {
    let (_, mut launch) = program(provider(name), request(config)).await;
    conclusion(&mut launch, EffectEvent::Exited(exited)).await
}

/// Why the provider does not start with this configuration.
pub async fn invalid_configuration(name: &str, config: &str) -> String {
    match provider(name).start_launch(request(config), &call()).await {
        Err(CallError::Plugin { error: PluginError::InvalidConfiguration(text), .. }) => text,
        other => panic!("{config}: {other:?}"),
    }
}

/// The variables that the program takes from the host's own environment.
pub fn inherited(run: &RunProgram) -> Vec<&str> {
    run.env.iter().filter(|(_, value)| *value == Value::Inherit).map(|(name, _)| name.as_str()).collect()
}
