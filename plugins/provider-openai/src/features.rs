//! What a request asks of a service beyond the answer, and how less is asked when the service refuses something.
//!
//! Compatible services are compatible in different ways, and none says beforehand what it takes. Each step leaves
//! something out, so there are only so many.

use assize_plugin_sdk::LaunchRequest;

use crate::config::{Api, Config, Format};
use crate::reading::hides_something;
use crate::service_error::ServiceError;

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Features {
    pub(crate) format: Format,
    pub(crate) tools: bool,
    pub(crate) stream: bool,
    /// Whether a stream shall end with what it cost.
    pub(crate) stream_usage: bool,
    pub(crate) length: LengthField,
    /// Whether the other name for the length was tried.
    tried_other_length: bool,
    pub(crate) effort: bool,
    /// Whether thoughts come back encrypted instead of being kept at the service.
    pub(crate) replay: bool,
    /// Whether the rules stand in a message of their own.
    pub(crate) system: bool,
}

/// The name under which the longest answer is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LengthField {
    /// Of models that think. Responses has a name of its own instead.
    MaxCompletionTokens,
    /// Of everything older.
    MaxTokens,
    /// The service decides.
    Unsaid,
}

impl Features {
    /// What the first request asks for. A question without tasks has no results that could have a form.
    pub(crate) fn of(config: &Config, request: &LaunchRequest) -> Self {
        Self {
            format: if request.tasks.is_empty() { Format::Plain } else { config.format },
            tools: config.tools && hides_something(request),
            stream: config.stream,
            stream_usage: true,
            length: if config.is_openai() { LengthField::MaxCompletionTokens } else { LengthField::MaxTokens },
            tried_other_length: config.api() == Api::Responses,
            effort: true,
            replay: true,
            system: true,
        }
    }

    /// Leaves out what a refusal names, and says what that is; nothing when the refusal is about something else.
    pub(crate) fn step_down(&mut self, api: Api, error: &ServiceError, has_effort: bool) -> Option<&'static str> {
        let param = error.param.to_lowercase();
        let message = format!("{}\n{}\n{}", error.code, error.message, error.behind).to_lowercase();
        // The parameter is the better witness: sentences name what could be used instead, too.
        [param.as_str(), message.as_str()]
            .into_iter()
            .filter(|said| !said.trim().is_empty())
            .find_map(|said| self.leave_out(api, said, &message, has_effort))
    }

    fn leave_out(&mut self, api: Api, said: &str, message: &str, has_effort: bool) -> Option<&'static str> {
        self.leave_out_of_delivery(api, said, message).or_else(|| self.leave_out_of_review(api, said, has_effort))
    }

    /// How the answer is brought.
    fn leave_out_of_delivery(&mut self, api: Api, said: &str, message: &str) -> Option<&'static str> {
        let says = |words: &[&str]| words.iter().any(|word| said.contains(word));
        let whole = said.trim();
        if api == Api::Chat && self.stream && self.stream_usage && says(&["stream_options", "include_usage"]) {
            self.stream_usage = false;
            return Some("stream_options");
        }
        if self.stream
            && (whole == "stream" || says(&["stream this model", "'stream'", "`stream`", "streaming is not"]))
        {
            self.stream = false;
            return Some("stream");
        }
        let lengths = ["max_completion_tokens", "max_tokens", "max_output_tokens", "in the completion"];
        if self.length != LengthField::Unsaid && says(&lengths) {
            self.change_length(message);
            return Some("max_output_tokens");
        }
        let replay = says(&["encrypted", "include", "'store'", "`store`"]) || whole == "store";
        if api == Api::Responses && self.replay && replay {
            self.replay = false;
            return Some("include");
        }
        None
    }

    /// What the model is given to review with.
    fn leave_out_of_review(&mut self, api: Api, said: &str, has_effort: bool) -> Option<&'static str> {
        let says = |words: &[&str]| words.iter().any(|word| said.contains(word));
        let whole = said.trim();
        if has_effort && self.effort && says(&["reasoning", "thinking"]) {
            self.effort = false;
            return Some("reasoning_effort");
        }
        let tools = says(&["tool", "function call", "function_call"]);
        let formats =
            ["response_format", "json_", "json mode", "schema", "structured output", "grammar", "text.format"];
        let format = (says(&formats) || whole == "text") && !whole.starts_with("tools");
        if format && self.format != Format::Plain {
            // Together with tools no other JSON format fares better.
            self.format = if self.format == Format::JsonSchema && !tools { Format::JsonObject } else { Format::Plain };
            return Some("format");
        }
        if self.tools && tools {
            self.tools = false;
            return Some("tools");
        }
        let systems = ["system role", "system message", "'system'", "roles must alternate"];
        if api == Api::Chat && self.system && says(&systems) {
            self.system = false;
            return Some("system");
        }
        None
    }

    /// A name that is not known is exchanged once; a number that is too large is left to the service.
    fn change_length(&mut self, message: &str) {
        let too_large = ["too large", "at most", "exceed", "less than", "must be", "maximum", "in the completion"];
        if self.tried_other_length || too_large.iter().any(|phrase| message.contains(phrase)) {
            self.length = LengthField::Unsaid;
            return;
        }
        self.tried_other_length = true;
        self.length = match self.length {
            LengthField::MaxCompletionTokens => LengthField::MaxTokens,
            LengthField::MaxTokens | LengthField::Unsaid => LengthField::MaxCompletionTokens,
        };
    }
}

/// Whether a status may be about a part of the request rather than about all of it.
pub(crate) fn may_be_a_part(status: u16) -> bool {
    matches!(status, 400 | 404 | 405 | 415 | 422 | 501)
}

#[cfg(test)]
mod tests {
    use super::*;
    use assize_plugin_sdk::Task;

    fn features() -> Features {
        let request = LaunchRequest {
            tasks: vec![Task::default()],
            read_paths: vec!["hidden.rs".to_owned()],
            ..LaunchRequest::default()
        };
        Features::of(&Config { base_url: "https://h/v1".to_owned(), ..Config::default() }, &request)
    }

    #[test]
    fn a_question_without_tasks_asks_for_nothing_but_words() {
        let features = Features::of(&Config::default(), &LaunchRequest::default());
        assert_eq!((features.format, features.tools), (Format::Plain, false));
    }

    fn error(param: &str, message: &str) -> ServiceError {
        ServiceError { param: param.to_owned(), message: message.to_owned(), ..ServiceError::default() }
    }

    #[test]
    fn what_services_were_seen_to_refuse_is_left_out() {
        for (param, message, left_out) in [
            (
                "response_format",
                "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
                "format",
            ),
            ("", "This response_format type is unavailable now", "format"),
            ("", "This model does not support response format `json_schema`.", "format"),
            ("tools[0].function.parameters", "Invalid schema for function 'read_file'", "tools"),
            ("", "registry.ollama.ai/library/gemma does not support tools", "tools"),
            ("", "No endpoints found that support tool use.", "tools"),
            ("", "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set", "tools"),
            (
                "max_tokens",
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
                "max_output_tokens",
            ),
            (
                "",
                "max_tokens is too large: 99999. This model supports at most 4096 completion tokens",
                "max_output_tokens",
            ),
            ("stream_options", "Unknown parameter", "stream_options"),
            ("", "stream_options: Extra inputs are not permitted", "stream_options"),
            ("stream", "Your organization must be verified to stream this model.", "stream"),
            ("reasoning_effort", "Unrecognized request argument supplied: reasoning_effort", "reasoning_effort"),
            ("", "System role not supported", "system"),
        ] {
            assert_eq!(
                features().step_down(Api::Chat, &error(param, message), true),
                Some(left_out),
                "{param} {message}"
            );
        }
        let replay = error("include", "Unknown parameter: 'include'.");
        assert_eq!(features().step_down(Api::Responses, &replay, false), Some("include"));
    }

    #[test]
    fn formats_go_down_one_by_one_and_all_at_once_beside_tools() {
        let mut features = features();
        let refusal = error("response_format", "no");
        for format in [Format::JsonObject, Format::Plain] {
            assert_eq!(features.step_down(Api::Chat, &refusal, false), Some("format"));
            assert_eq!(features.format, format);
        }
        assert_eq!(features.step_down(Api::Chat, &refusal, false), None);
        let mut both = self::features();
        both.step_down(Api::Chat, &error("", "json mode cannot be combined with tool/function calling"), false);
        assert_eq!((both.format, both.tools), (Format::Plain, true));
    }

    #[test]
    fn a_length_is_renamed_once_and_then_left_out() {
        let mut features = features();
        let unknown = error("max_tokens", "Unsupported parameter");
        features.step_down(Api::Chat, &unknown, false);
        assert_eq!(features.length, LengthField::MaxCompletionTokens);
        features.step_down(Api::Chat, &unknown, false);
        assert_eq!(features.length, LengthField::Unsaid);
        assert_eq!(features.step_down(Api::Chat, &unknown, false), None);
    }

    #[test]
    fn every_refusal_comes_to_an_end() {
        let all = error("", "stream_options 'stream' max_tokens include reasoning schema tool system role");
        for api in [Api::Chat, Api::Responses] {
            let mut features = features();
            let steps = (0..100).take_while(|_| features.step_down(api, &all, true).is_some()).count();
            assert!(steps < 12, "{steps}");
        }
    }

    #[test]
    fn other_refusals_change_nothing() {
        for message in ["The model `m` does not exist", "Invalid value", ""] {
            let mut features = features();
            assert_eq!(features.step_down(Api::Chat, &error("", message), true), None, "{message}");
            assert_eq!(features, self::features());
        }
    }
}
