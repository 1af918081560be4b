//! Every law is broken once by hand, so that none of them is one that nothing can break.

use super::super::laws::{Laws, RateNews};
use super::super::limit_law::{LimitLaw, laws_of};
use super::super::scenario::BEGIN_MS;
use super::super::scenario_check::key_of_limit;
use super::super::store::{Store, TaskStand};
use super::*;
use crate::dispatch::WindowKey;
use crate::id::TaskId;
use crate::plugin::Reading;

fn limited(change: impl FnOnce(&mut SimulatedLane)) -> Scenario {
    let mut api = lane("api", 4);
    (api.limits, api.service.windows) = (vec![requests(5)], vec![requests(5)]);
    change(&mut api);
    scenario(10, 4, vec![api])
}

fn key(scenario: &Scenario) -> WindowKey {
    key_of_limit(&scenario.lanes[0], &scenario.lanes[0].service.windows[0])
}

fn law(scenario: &Scenario) -> LimitLaw {
    laws_of(scenario)[&key(scenario)]
}

fn news(by: Option<WindowKey>, sent_ms: u64, retry_after_ms: Option<u64>) -> RateNews {
    let reading = Reading { throttled: true, retry_after_ms, ..Reading::default() };
    RateNews { lane: 0, reading, by, sent_ms, began_ms: sent_ms }
}

#[test]
fn how_often_a_limit_may_be_run_into_follows_from_what_can_be_known() {
    assert_eq!(law(&limited(|_| {})), LimitLaw::Never);
    assert_eq!(law(&limited(|api| api.limits.clear())), LimitLaw::Unknown);
    assert_eq!(law(&limited(|api| api.limits[0].limit = 6)), LimitLaw::Unknown, "more than there is");
    let told = |api: &mut SimulatedLane| {
        api.limits.clear();
        api.service.tells_limits = true;
    };
    assert_eq!(law(&limited(told)), LimitLaw::Once);
    assert_eq!(law(&limited(|api| api.service.requests.most = 2)), LimitLaw::Unknown, "later ones come when they like");
    let paced = |api: &mut SimulatedLane| {
        api.service.requests.most = 2;
        api.pacing = LanePacing::Request;
    };
    assert_eq!(law(&limited(paced)), LimitLaw::Never, "each one is asked for");
    let fixed = |api: &mut SimulatedLane| api.service.windows[0].refill = Refill::Fixed;
    assert_eq!(law(&limited(fixed)), LimitLaw::Unknown, "nobody says when it is full again");
    let tells_end = |api: &mut SimulatedLane| {
        fixed(api);
        api.service.tells_retry_after = true;
    };
    assert_eq!(law(&limited(tells_end)), LimitLaw::OncePerPeriod);
}

#[test]
fn a_refusal_by_a_configured_limit_is_a_violation() {
    let scenario = limited(|_| {});
    let mut laws = Laws::new(&scenario);
    laws.refused("api", &key(&scenario), BEGIN_MS);
    assert_eq!(laws.violations.len(), 1);
}

#[test]
fn a_limit_that_was_learned_and_is_run_into_again_is_a_violation() {
    let scenario = limited(|api| {
        api.limits.clear();
        api.service.tells_limits = true;
    });
    let (mut laws, by) = (Laws::new(&scenario), key(&scenario));
    laws.refused("api", &by, BEGIN_MS);
    laws.heard("api", &news(Some(by.clone()), BEGIN_MS, Some(1)), BEGIN_MS + 100);
    laws.heard("api", &news(Some(by.clone()), BEGIN_MS + 99, Some(1)), BEGIN_MS + 200);
    assert_eq!((laws.violations.len(), laws.episodes()), (0, 1), "it was under way already");
    laws.heard("api", &news(Some(by), BEGIN_MS + 300, Some(1)), BEGIN_MS + 400);
    assert_eq!((laws.violations.len(), laws.episodes()), (1, 2));
}

#[test]
fn a_window_that_fills_up_at_an_instant_is_run_into_once_before_it() {
    let scenario = limited(|api| {
        api.service.windows[0].refill = Refill::Fixed;
        api.service.tells_retry_after = true;
    });
    let (mut laws, by) = (Laws::new(&scenario), key(&scenario));
    let mut hear = |after_ms: u64| {
        let sent_ms = BEGIN_MS + after_ms;
        laws.heard("api", &news(Some(by.clone()), sent_ms, Some(1)), sent_ms + 50);
        laws.violations.len()
    };
    assert_eq!((hear(10_000), hear(70_000), hear(110_000)), (0, 0, 1));
}

#[test]
fn what_goes_to_a_lane_that_cools_down_is_a_violation() {
    let mut laws = Laws::new(&limited(|_| {}));
    laws.heard("api", &news(None, BEGIN_MS, Some(10_000)), BEGIN_MS);
    laws.sends("other", BEGIN_MS);
    laws.sends("api", BEGIN_MS + 10_000);
    assert_eq!(laws.violations, []);
    laws.sends("api", BEGIN_MS + 9_999);
    assert_eq!(laws.violations.len(), 1);
    laws.heard("api", &news(None, BEGIN_MS + 20_000, None), BEGIN_MS + 20_000);
    laws.sends("api", BEGIN_MS + 24_499);
    assert_eq!(laws.violations.len(), 2, "nobody named an end of the overload, so it is five seconds less the jitter");
    laws.sends("api", BEGIN_MS + 24_500);
    assert_eq!(laws.violations.len(), 2);
}

#[test]
fn a_budget_that_is_overspent_is_a_violation_where_it_could_be_kept() {
    let mut scenario = limited(|_| {});
    scenario.limits.tokens = Some(100);
    let mut laws = Laws::new(&scenario);
    laws.spends(&scenario, 100, 0, BEGIN_MS);
    assert_eq!(laws.violations, []);
    laws.spends(&scenario, 101, 0, BEGIN_MS);
    assert_eq!(laws.violations.len(), 1);
    scenario.lanes[0].agent = true;
    let mut unbounded = Laws::new(&scenario);
    unbounded.spends(&scenario, 101, 0, BEGIN_MS);
    assert_eq!(unbounded.violations, []);
}

#[test]
fn the_store_leases_a_task_once_and_knows_what_was_ingested() {
    let mut store = Store::default();
    let task = TaskId::new("t");
    store.add(task.clone(), 10);
    assert_eq!(store.lease(1, std::slice::from_ref(&task)), []);
    assert_eq!(store.lease(2, std::slice::from_ref(&task)), std::slice::from_ref(&task));
    store.settle(1, std::slice::from_ref(&task), &[], true);
    store.settle(2, std::slice::from_ref(&task), &[], true);
    assert_eq!((store.ingested[&task], store.count(&TaskStand::Done)), (2, 1));
}
