//! What the guests have in common: the parts of a plugin that a behaviour does not care about.
//! Each guest is an example of this package, compiled for `wasm32-wasip2` only; on other targets it is empty.

/// An analyzer named as given whose `inspect` is the function given; everything else is plain.
#[macro_export]
macro_rules! analyzer {
    ($name:literal, $inspect:path) => {
        $crate::analyzer!($name, "analyzer", $inspect);
    };
    ($name:literal, $kind:literal, $inspect:path) => {
        wit_bindgen::generate!({ world: "analyzer-plugin", path: "../../wit/v0.1" });

        use assize::plugin::facts::{Fact, Observation};
        use assize::plugin::types::{Description, PluginError};
        use exports::assize::plugin::analyzer::{FileFacts, Relation, SourceFile};

        struct Component;

        impl exports::assize::plugin::plugin::Guest for Component {
            fn describe() -> Description {
                Description {
                    name: $name.to_owned(),
                    version: "0.1.0".to_owned(),
                    summary: "A guest of the tests.".to_owned(),
                    license: "Apache-2.0 OR MIT".to_owned(),
                    kind: $kind.to_owned(),
                    serves: Vec::new(),
                    config_schema: "{}".to_owned(),
                    requests: Vec::new(),
                    extra: Vec::new(),
                }
            }
        }

        impl exports::assize::plugin::analyzer::Guest for Component {
            fn inspect(file: SourceFile, config: String) -> Result<Vec<Fact>, PluginError> {
                // An empty file is the way to ask whether the next call is served.
                if file.content.is_empty() { Ok(Vec::new()) } else { $inspect(file, config) }
            }

            fn relate(_: Vec<FileFacts>, _: Vec<String>, _: String) -> Result<Vec<Relation>, PluginError> {
                Ok(Vec::new())
            }

            fn import_report(_: String, _: Vec<u8>) -> Result<Vec<Observation>, PluginError> {
                Ok(Vec::new())
            }
        }

        export!(Component);
    };
}

/// A provider named as given whose launch takes the steps that the function gives for the events so far.
#[macro_export]
macro_rules! provider {
    ($name:literal, $start:path, $next:path) => {
        wit_bindgen::generate!({ world: "provider-plugin", path: "../../wit/v0.1" });

        use assize::plugin::types::{Description, PluginError};
        use exports::assize::plugin::provider::{Event, GuestLaunch, Launch, LaunchRequest, Step};

        struct Component;

        struct Run {
            request: LaunchRequest,
            steps: core::cell::Cell<u32>,
        }

        impl exports::assize::plugin::plugin::Guest for Component {
            fn describe() -> Description {
                Description {
                    name: $name.to_owned(),
                    version: "0.1.0".to_owned(),
                    summary: "A guest of the tests.".to_owned(),
                    license: "Apache-2.0 OR MIT".to_owned(),
                    kind: "provider".to_owned(),
                    serves: Vec::new(),
                    config_schema: "{}".to_owned(),
                    requests: Vec::new(),
                    extra: Vec::new(),
                }
            }
        }

        impl exports::assize::plugin::provider::Guest for Component {
            type Launch = Run;
        }

        impl GuestLaunch for Run {
            fn start(request: LaunchRequest) -> Result<Launch, PluginError> {
                $start(&request)?;
                Ok(Launch::new(Run { request, steps: core::cell::Cell::new(0) }))
            }

            fn next(&self, event: Option<Event>) -> Result<Step, PluginError> {
                self.steps.set(self.steps.get() + 1);
                $next(&self.request, self.steps.get(), event)
            }
        }

        export!(Component);
    };
}
