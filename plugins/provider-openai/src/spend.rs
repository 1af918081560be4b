//! What a launch has cost so far.

use assize_plugin_sdk::{ModelFacts, Tokens, Usage};

use crate::reply::Counted;

/// Sums over the requests of one launch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spend {
    requests: u32,
    tokens: Option<Tokens>,
    micro_usd: Option<u64>,
    /// Cost of the last request that told one.
    last_micro_usd: u64,
}

impl Spend {
    /// Adds one response. The service's own price counts before the table's.
    pub(crate) fn add(&mut self, counted: Option<Counted>, prices: Option<&ModelFacts>) {
        self.requests = self.requests.saturating_add(1);
        let Some(counted) = counted else { return };
        let sum = self.tokens.get_or_insert_default();
        sum.input = sum.input.saturating_add(counted.tokens.input);
        sum.cached_input = sum.cached_input.saturating_add(counted.tokens.cached_input);
        sum.output = sum.output.saturating_add(counted.tokens.output);
        if let Some(cost) = counted.micro_usd.or_else(|| prices?.derive_cost(counted.tokens)) {
            self.micro_usd = Some(self.micro_usd.unwrap_or_default().saturating_add(cost));
            self.last_micro_usd = cost;
        }
    }

    /// Whether one more request like the last, and the one that answers, would cost more than the launch may.
    pub(crate) fn nears(&self, budget_micro_usd: Option<u64>) -> bool {
        let soon = self.micro_usd.unwrap_or_default().saturating_add(self.last_micro_usd.saturating_mul(2));
        budget_micro_usd.is_some_and(|budget| soon > budget)
    }

    /// The usage that is told to the host; absent when nothing was asked.
    pub(crate) fn into_usage(self, model: Option<String>) -> Option<Usage> {
        (self.requests > 0).then(|| Usage {
            input_tokens: self.tokens.map(|tokens| tokens.input),
            output_tokens: self.tokens.map(|tokens| tokens.output),
            cached_input_tokens: self.tokens.map(|tokens| tokens.cached_input),
            cost_micro_usd: self.micro_usd,
            model,
            requests: Some(self.requests),
            extra: Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(input: u64, micro_usd: Option<u64>) -> Option<Counted> {
        Some(Counted { tokens: Tokens { input, ..Tokens::default() }, micro_usd })
    }

    #[test]
    fn the_service_s_price_counts_before_the_table_s() {
        let prices = ModelFacts { input_usd_per_million: Some(2.0), ..ModelFacts::default() };
        let mut spend = Spend::default();
        spend.add(counted(10, Some(7)), Some(&prices));
        spend.add(counted(10, None), Some(&prices));
        spend.add(None, Some(&prices));
        let usage = spend.into_usage(None).unwrap();
        assert_eq!((usage.requests, usage.input_tokens, usage.cost_micro_usd), (Some(3), Some(20), Some(27)));
    }

    #[test]
    fn what_was_not_told_is_absent_and_sums_do_not_overflow() {
        let mut spend = Spend::default();
        spend.add(None, None);
        let usage = spend.clone().into_usage(None).unwrap();
        assert_eq!((usage.input_tokens, usage.cost_micro_usd), (None, None));
        spend.add(counted(u64::MAX, Some(u64::MAX)), None);
        spend.add(counted(u64::MAX, Some(u64::MAX)), None);
        assert!(spend.nears(Some(u64::MAX - 1)));
        assert_eq!(spend.into_usage(None).unwrap().input_tokens, Some(u64::MAX));
        assert_eq!(Spend::default().into_usage(None), None);
    }

    #[test]
    fn a_budget_is_near_before_it_is_spent() {
        let mut spend = Spend::default();
        spend.add(counted(1, Some(10)), None);
        assert!(!spend.nears(None) && !spend.nears(Some(30)) && spend.nears(Some(29)));
    }
}
