//! Waits, and waits again. An attempt other than the first fails to start, with the kind of error that the prompt names.
#![cfg(target_family = "wasm")]

assize_guests::provider!("endless-steps", start, wait);

fn start(request: &LaunchRequest) -> Result<(), PluginError> {
    match request.attempt {
        1 => Ok(()),
        _ => Err(PluginError::Unsupported(request.prompt.clone())),
    }
}

fn wait(request: &LaunchRequest, step: u32, _: Option<Event>) -> Result<Step, PluginError> {
    if request.prompt == "panic" && step == 2 {
        panic!("at the second step");
    }
    if request.prompt == "refuse" && step == 2 {
        return Err(PluginError::Internal("not this time".to_owned()));
    }
    if request.prompt == "spin" && step == 2 {
        loop {
            core::hint::black_box(step);
        }
    }
    Ok(Step::Perform(assize::plugin::effects::Effect::Wait(u64::from(step))))
}
