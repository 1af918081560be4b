//! The words of refusals, service by service.

use crate::asked::Asked;
use crate::protocol::Protocol;
use crate::refusal::{Occasion, Reason, Words, daily, insufficient_quota, limit_words, limited, plan};
use crate::scenario::{Feature, Refusal};

/// The words for a reason.
pub fn words_of(reason: Reason, occasion: Occasion) -> Words {
    match reason {
        Reason::Named(refusal) => named_words(refusal, occasion),
        Reason::Limit(cause, told) => limit_words(cause, told, occasion.asked.protocol),
        Reason::Feature(feature) => {
            let parameter = parameter(feature, occasion.asked.protocol);
            let message = format!("{parameter}: this feature is not supported by the model");
            Words { parameter: Some(parameter), ..invalid(occasion.asked.protocol, message) }
        }
    }
}

fn parameter(feature: Feature, protocol: Protocol) -> &'static str {
    match (feature, protocol) {
        (Feature::JsonSchema | Feature::JsonObject, Protocol::Messages) => "output_config.format",
        (Feature::JsonSchema | Feature::JsonObject, Protocol::Chat) => "response_format",
        (Feature::JsonSchema | Feature::JsonObject, Protocol::Responses) => "text.format",
        (Feature::JsonSchema, Protocol::Gemini) => "generationConfig.responseSchema",
        (Feature::JsonObject, Protocol::Gemini) => "generationConfig.responseMimeType",
        (Feature::JsonSchema | Feature::JsonObject, Protocol::Converse) => "outputConfig",
        (Feature::Tools, Protocol::Converse) => "toolConfig",
        (Feature::Tools, _) => "tools",
        (Feature::Stream, _) => "stream",
        (Feature::CacheControl, _) => "cache_control",
        (Feature::StreamOptions, _) => "stream_options",
    }
}

fn named_words(refusal: Refusal, occasion: Occasion) -> Words {
    let asked = occasion.asked;
    let protocol = asked.protocol;
    match refusal {
        Refusal::Unauthenticated => unauthenticated(protocol, ""),
        Refusal::EchoKey => unauthenticated(protocol, occasion.credential),
        Refusal::Unpaid => Words::new(
            402,
            by(protocol, "billing_error", "insufficient_credits", "FAILED_PRECONDITION", "ValidationException"),
            "There are no credits left. Add credits to go on.".to_owned(),
        ),
        Refusal::Forbidden => Words::new(
            403,
            by(protocol, "permission_error", "permission_denied", "PERMISSION_DENIED", "AccessDeniedException"),
            "The credential has no permission to use this resource.".to_owned(),
        ),
        Refusal::UnknownModel => unknown_model(asked),
        Refusal::TooLarge => Words::new(
            413,
            by(protocol, "request_too_large", "request_too_large", "INVALID_ARGUMENT", "ValidationException"),
            "Request exceeds the maximum size".to_owned(),
        ),
        Refusal::TooLong => too_long(protocol),
        Refusal::Limited(hint) => limited(protocol, hint),
        Refusal::Daily => daily(asked),
        Refusal::Plan => plan(asked, occasion.now),
        Refusal::InsufficientQuota => insufficient_quota(protocol),
        Refusal::Filtered => invalid(protocol, "Output blocked by content filtering policy".to_owned()),
        Refusal::Broken => Words::new(
            500,
            by(protocol, "api_error", "server_error", "INTERNAL", "InternalServerException"),
            "Internal server error".to_owned(),
        ),
        Refusal::Unavailable => overload(protocol, 503),
        Refusal::Overloaded => overload(protocol, 529),
        Refusal::BadGateway => overload(protocol, 502),
    }
}

/// The word of each service.
fn by(
    protocol: Protocol,
    anthropic: &'static str,
    openai: &'static str,
    gemini: &'static str,
    bedrock: &'static str,
) -> &'static str {
    match protocol {
        Protocol::Messages => anthropic,
        Protocol::Chat | Protocol::Responses => openai,
        Protocol::Gemini => gemini,
        Protocol::Converse => bedrock,
    }
}

/// The words for a request that is wrong in itself.
pub fn invalid(protocol: Protocol, message: String) -> Words {
    let kind =
        by(protocol, "invalid_request_error", "invalid_request_error", "INVALID_ARGUMENT", "ValidationException");
    Words::new(400, kind, message)
}

fn not_found(protocol: Protocol, message: String) -> Words {
    let kind = by(protocol, "not_found_error", "invalid_request_error", "NOT_FOUND", "ResourceNotFoundException");
    Words::new(404, kind, message)
}

fn unauthenticated(protocol: Protocol, credential: &str) -> Words {
    let told = if credential.is_empty() { String::new() } else { format!(": {credential}") };
    match protocol {
        Protocol::Messages => Words::new(401, "authentication_error", format!("invalid x-api-key{told}")),
        Protocol::Chat | Protocol::Responses => Words {
            code: Some("invalid_api_key"),
            ..Words::new(401, "invalid_request_error", format!("Incorrect API key provided{told}."))
        },
        Protocol::Gemini => Words::new(
            401,
            "UNAUTHENTICATED",
            format!("Request had invalid authentication credentials{told}. Expected a valid API key."),
        ),
        Protocol::Converse => Words::new(
            401,
            "UnrecognizedClientException",
            format!("The security token included in the request is invalid{told}."),
        ),
    }
}

fn unknown_model(asked: &Asked) -> Words {
    let model = &asked.model;
    match asked.protocol {
        Protocol::Messages => not_found(asked.protocol, format!("model: {model}")),
        Protocol::Chat | Protocol::Responses => Words {
            code: Some("model_not_found"),
            ..not_found(asked.protocol, format!("The model `{model}` does not exist or you do not have access to it."))
        },
        Protocol::Gemini => not_found(
            asked.protocol,
            format!("models/{model} is not found for API version v1beta, or is not supported for generateContent."),
        ),
        Protocol::Converse => not_found(asked.protocol, format!("Could not resolve the foundation model {model}.")),
    }
}

fn too_long(protocol: Protocol) -> Words {
    match protocol {
        Protocol::Messages => invalid(protocol, "prompt is too long: 250000 tokens > 200000 maximum".to_owned()),
        Protocol::Chat | Protocol::Responses => Words {
            code: Some("context_length_exceeded"),
            parameter: Some("input"),
            ..invalid(
                protocol,
                "Your input exceeds the context window of this model. Please adjust your input and try again."
                    .to_owned(),
            )
        },
        Protocol::Gemini => invalid(
            protocol,
            "The input token count (1250000) exceeds the maximum number of tokens allowed (1048576).".to_owned(),
        ),
        Protocol::Converse => invalid(protocol, "Input is too long for requested model.".to_owned()),
    }
}

fn overload(protocol: Protocol, status: u16) -> Words {
    let kind = by(protocol, "overloaded_error", "server_error", "UNAVAILABLE", "ServiceUnavailableException");
    let message = match protocol {
        Protocol::Messages => "Overloaded",
        Protocol::Chat | Protocol::Responses => {
            "The server is currently overloaded with other requests. Sorry about that!"
        }
        Protocol::Gemini => "The model is overloaded. Please try again later.",
        Protocol::Converse => "The service is temporarily unavailable.",
    };
    Words::new(status, kind, message.to_owned())
}
