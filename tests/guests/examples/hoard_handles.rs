//! Makes resource handles and never drops one.
#![cfg(target_family = "wasm")]

assize_guests::provider!("hoard-handles", start, hoard);

fn start(_: &LaunchRequest) -> Result<(), PluginError> {
    Ok(())
}

fn hoard(request: &LaunchRequest, _: u32, _: Option<Event>) -> Result<Step, PluginError> {
    loop {
        let run =
            Run { request: LaunchRequest { prompt: String::new(), ..request.clone() }, steps: Default::default() };
        core::mem::forget(Launch::new(run));
    }
}
