//! A lane of a run: one provider with its model, its account and its limits.

use assize_core::dispatch::{Dimension, LaneSpec, Pacing, Price, Scope, WindowSpec};
use assize_core::grant::{Grant, GrantKind, Grants};
use assize_core::result::ReviewerKind;

use super::catalog::{Catalog, Component};
use super::models::{ModelFacts, model_facts};
use crate::config::{LaneTable, LimitTable, PriceTable, Settings};

const MINUTE_MS: u64 = 60_000;
const DAY_MS: u64 = 24 * 60 * MINUTE_MS;
/// Part of a limit that may be used at once: some of it is left to whoever else uses the account.
const MARGIN: f64 = 0.8;
/// Tokens that a program was seen to send around a prompt.
const AGENT_OVERHEAD: u64 = 16_000;
/// Tokens kept free for the answer when nothing is known of the model.
const ANSWER_TOKENS: u64 = 8_000;
/// Tokens kept free for the answer of a model that is known to give as many; thoughts count among them.
const KNOWN_ANSWER_TOKENS: u64 = 32_000;
/// A lane grows to this many times its first width at most, unless configured.
const GROWTH: u32 = 4;

/// What a launch goes to.
#[derive(Clone)]
pub struct RunLane {
    /// Name of the lane; the provider's unless the user made others.
    pub name: String,
    /// Provider name.
    pub provider: String,
    /// Its component.
    pub component: Component,
    /// Its grants: those bound to its digest, and what the user's own section of the provider names in plain words.
    pub grants: Grants,
    /// Its configuration section, checked against its schema.
    pub config: serde_json::Value,
    /// Model that is asked for, when somebody said one.
    pub model: Option<String>,
    /// Who reviews.
    pub reviewer: ReviewerKind,
    /// Whether the lines under review stand in the prompt.
    pub contents_in_prompt: bool,
    /// Whether its programs work in a copy of the repository.
    pub snapshot: bool,
    /// Readers of limits, in the order in which they are asked.
    pub readers: Vec<Component>,
    /// The lane as the dispatcher knows it.
    pub spec: LaneSpec,
    /// Millionths of a US dollar for a million tokens in that come from a cache.
    pub cached_price: Option<u64>,
    /// Whether the user has said what tokens cost: then that counts, not what the provider reckons.
    pub users_price: bool,
    /// Why it was chosen, one line.
    pub why: String,
}

impl RunLane {
    /// Puts a lane together.
    pub(super) fn new(
        name: &str,
        provider: &str,
        component: &Component,
        config: serde_json::Value,
        settings: &Settings,
        catalog: &Catalog,
    ) -> Self {
        let table = settings.user.lanes.get(name).cloned().unwrap_or_default();
        let said = |key: &str| component.said(key);
        let reviewer = reviewer_of(said("reviewer"));
        let model = settings
            .model
            .clone()
            .or(table.model.clone())
            .or_else(|| text_of(&config, "model"))
            .filter(|m| !m.is_empty());
        let facts = model_facts(said("models"), model.as_deref());
        let spec = lane_spec(
            name,
            &table,
            &facts,
            Kind { reviewer, model: model.clone(), settings, component, config: &config },
        );
        Self {
            name: name.to_owned(),
            provider: provider.to_owned(),
            grants: grants_of(provider, component, &config),
            contents_in_prompt: said("contents") == Some("prompt"),
            snapshot: settings.snapshot && table.snapshot.unwrap_or(true) && reviewer == ReviewerKind::Agent,
            readers: catalog.rate_limits(provider).into_iter().cloned().collect(),
            component: component.clone(),
            config,
            model,
            reviewer,
            spec,
            cached_price: cached_price(&table, &facts),
            users_price: table.price.is_some(),
            why: String::new(),
        }
    }

    /// The program that it launches, by name.
    pub fn program(&self) -> Option<String> {
        program_of(&self.provider, &self.component, &self.config)
    }
}

/// The program that a provider's configuration names, or else the one that its component asks for: that of the provider's name
/// where there are several.
fn program_of(provider: &str, component: &Component, config: &serde_json::Value) -> Option<String> {
    let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
    let asked = || {
        let programs = || component.plugin.description().requests.iter().filter(|request| request.kind == "program");
        programs().find(|request| request.name == provider).or_else(|| programs().next()).map(|r| r.name.clone())
    };
    config
        .get("program")
        .and_then(text)
        .or_else(|| text(config.get("command")?.get(0)?))
        .or_else(|| text(config.get("command")?))
        .or_else(asked)
}

/// What a user writes into his own section of a built-in provider, or approves, he has named in the plainest way there is.
fn grants_of(provider: &str, component: &Component, config: &serde_json::Value) -> Grants {
    let mut grants: Vec<Grant> = component.grants.iter().cloned().collect();
    if component.is_built_in() {
        let grant = |kind, name: String| Grant { kind, name };
        grants.extend(program_of(provider, component, config).map(|name| grant(GrantKind::Program, name)));
        grants
            .extend(text_of(config, "base_url").and_then(|url| host_of(&url)).map(|name| grant(GrantKind::Host, name)));
        grants.extend(text_of(config, "secret").map(|name| grant(GrantKind::Secret, name)));
        if let (Some(region), "bedrock") = (text_of(config, "region"), component.name()) {
            grants.push(grant(GrantKind::Host, format!("bedrock-runtime.{region}.amazonaws.com")));
        }
    }
    Grants::of(grants)
}

/// Host of a URL, and its port where it is told.
pub(crate) fn host_of(url: &str) -> Option<String> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?.to_ascii_lowercase();
    (!host.is_empty()).then_some(host)
}

/// The secret that a provider pays with: the section's, none where it says so, or else what the component asks for.
pub(super) fn secret_of(config: &serde_json::Value, asked: impl FnOnce() -> Option<String>) -> Option<String> {
    match config.get("secret") {
        None => asked(),
        Some(value) => value.as_str().filter(|name| !name.is_empty()).map(str::to_owned),
    }
}

fn text_of(config: &serde_json::Value, key: &str) -> Option<String> {
    config.get(key)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

fn reviewer_of(word: Option<&str>) -> ReviewerKind {
    match word {
        Some("model") => ReviewerKind::Model,
        Some("rules") => ReviewerKind::Rules,
        Some("person") => ReviewerKind::Person,
        _ => ReviewerKind::Agent,
    }
}

/// What a lane's numbers depend on beside its table.
struct Kind<'a> {
    reviewer: ReviewerKind,
    model: Option<String>,
    settings: &'a Settings,
    component: &'a Component,
    config: &'a serde_json::Value,
}

fn lane_spec(name: &str, table: &LaneTable, facts: &ModelFacts, kind: Kind<'_>) -> LaneSpec {
    let agent = kind.reviewer == ReviewerKind::Agent;
    let workers = kind.settings.workers;
    let said = kind.component.said("width").and_then(|width| width.parse().ok());
    let width = table.width.or(said).unwrap_or(match kind.reviewer {
        ReviewerKind::Rules => std::thread::available_parallelism().map_or(2, |n| n.get() as u32),
        ReviewerKind::Model => 3,
        _ => 1,
    });
    let grown = width.saturating_mul(if kind.reviewer == ReviewerKind::Rules { 1 } else { GROWTH });
    let widest = table.widest.or(workers).unwrap_or(grown).max(1);
    // Who says how many are to work means it from the first launch on.
    let width = if table.width.is_none() { workers.unwrap_or(width) } else { width };
    let output =
        table.output_tokens.or(facts.output_tokens.map(|most| most.min(KNOWN_ANSWER_TOKENS))).unwrap_or(ANSWER_TOKENS);
    LaneSpec {
        name: name.to_owned(),
        account: table.account.clone().unwrap_or_else(|| account_of(name, &kind)),
        model: kind.model,
        width: width.min(widest),
        widest,
        agent,
        pacing: match kind.reviewer {
            ReviewerKind::Model => Pacing::Request,
            ReviewerKind::Agent if uses_gateway(kind.component, kind.config) => Pacing::Request,
            _ => Pacing::Launch,
        },
        context_tokens: table.context_tokens.or(facts.context_tokens),
        output_tokens: output,
        overhead_tokens: table.overhead_tokens.unwrap_or(if agent { AGENT_OVERHEAD } else { 0 }),
        price: table.price.map(price_of_table).or_else(|| price_of_facts(facts)),
        windows: windows_of(&table.limits),
        margin: table.margin.unwrap_or(MARGIN),
        ..LaneSpec::default()
    }
}

/// Whether a program's requests pass through a gateway, so that each of them is paced. With the user's own login only Claude
/// Code's do; the others know no other address for it than their own service's.
fn uses_gateway(component: &Component, config: &serde_json::Value) -> bool {
    let asks_for_a_host = component.plugin.description().requests.iter().any(|request| request.kind == "host");
    let off = config.get("gateway").and_then(serde_json::Value::as_bool) == Some(false);
    let by_user = text_of(config, "login").as_deref() == Some("user") && component.name() != "claude-code";
    asks_for_a_host && !off && !by_user
}

/// Limits belong to a service and whoever pays there. Rules and people have none.
fn account_of(name: &str, kind: &Kind<'_>) -> String {
    let request = |word: &str| {
        let requests = &kind.component.plugin.description().requests;
        requests.iter().find(|request| request.kind == word).map(|request| request.name.clone())
    };
    if matches!(kind.reviewer, ReviewerKind::Rules | ReviewerKind::Person) {
        return String::new();
    }
    let service = text_of(kind.config, "base_url").and_then(|url| host_of(&url)).or_else(|| request("host"));
    let Some(mut service) = service else { return name.to_owned() };
    // Regions of one service have limits of their own.
    if let Some(region) = text_of(kind.config, "region") {
        service = format!("{service} {region}");
    }
    let payer = match text_of(kind.config, "login").as_deref() {
        Some("user") => Some("user".to_owned()),
        _ => secret_of(kind.config, || request("secret")),
    };
    match payer {
        Some(payer) => format!("{service}/{payer}"),
        None => service,
    }
}

fn windows_of(limits: &LimitTable) -> Vec<WindowSpec> {
    let window = |dimension, limit: Option<u64>, period_ms| {
        limit.map(|limit| WindowSpec { dimension, limit, period_ms, scope: Scope::Account })
    };
    [
        window(Dimension::Requests, limits.requests_per_minute, MINUTE_MS),
        window(Dimension::Requests, limits.requests_per_day, DAY_MS),
        window(Dimension::Tokens, limits.tokens_per_minute, MINUTE_MS),
        window(Dimension::Tokens, limits.tokens_per_day, DAY_MS),
        window(Dimension::InputTokens, limits.input_tokens_per_minute, MINUTE_MS),
        window(Dimension::OutputTokens, limits.output_tokens_per_minute, MINUTE_MS),
        window(Dimension::Concurrency, limits.concurrency, 0),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn price_of_table(table: PriceTable) -> Price {
    price(table.input_usd_per_million, table.output_usd_per_million)
}

fn price_of_facts(facts: &ModelFacts) -> Option<Price> {
    Some(price(facts.input_usd_per_million?, facts.output_usd_per_million?))
}

/// Prices with cached tokens at the full price: what a launch may cost at most is what budgets are reserved from.
fn price(input: f64, output: f64) -> Price {
    Price { input_micro_usd_per_million: micro_usd(input), output_micro_usd_per_million: micro_usd(output) }
}

/// The user's price for tokens from a cache; the component's only where the user has not set prices of his own.
fn cached_price(table: &LaneTable, facts: &ModelFacts) -> Option<u64> {
    let usd = match &table.price {
        Some(price) => price.cached_input_usd_per_million,
        None => facts.cached_input_usd_per_million,
    };
    usd.map(micro_usd)
}

fn micro_usd(usd: f64) -> u64 {
    (usd * 1e6).round() as u64
}
