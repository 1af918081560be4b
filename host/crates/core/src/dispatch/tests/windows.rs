//! One window: levels, margins, resets and readings.

use super::*;

fn key(period_ms: u64) -> WindowKey {
    WindowKey { holder: "a".to_owned(), dimension: Dimension::Requests, period_ms }
}

fn declared(limit: u64, period_ms: u64) -> Window {
    let mut window = Window::new(&key(period_ms), 0.8, 0);
    window.declare(limit);
    window
}

#[test]
fn a_window_holds_its_limit_less_the_margin_and_refills_over_its_period() {
    let mut window = declared(100, MINUTE);
    assert_eq!(window.capacity(), 80.0);
    window.take(80.0, 0);
    assert_eq!(window.fits_at(8.0, 0), Fit::At(6_000));
    assert_eq!(window.fits_at(8.0, 6_000), Fit::Now);
    assert_eq!(window.level_at(10 * MINUTE), 80.0, "never more than it holds");
}

#[test]
fn while_the_service_is_heard_the_whole_limit_refills() {
    let mut window = declared(100, MINUTE);
    window.read(Some(100), Some(0), None, 0, 0);
    assert_eq!(window.fits_at(10.0, 0), Fit::At(6_000));
    window.take(0.0, 2 * MINUTE);
    window.take(80.0, 2 * MINUTE);
    assert_eq!(window.fits_at(8.0, 2 * MINUTE), Fit::At(2 * MINUTE + 6_000), "unheard for a period: less the margin");
}

#[test]
fn what_is_said_to_fit_at_an_instant_fits_when_it_has_come_and_not_long_before() {
    for (limit, period, draw) in [(7, MINUTE, 3.0), (1, 1_000, 1.0), (150_000, MINUTE, 33_333.0), (3, 24 * HOUR, 2.0)] {
        let mut window = declared(limit, period);
        window.take(window.capacity(), 17);
        let Fit::At(at) = window.fits_at(draw, 17) else { panic!("{limit}: fits at once") };
        assert!(at > 17);
        assert_eq!(window.fits_at(draw, at), Fit::Now, "{limit}");
        assert_ne!(window.fits_at(draw, at - 1 - (at - 17) / 100), Fit::Now, "{limit}");
    }
}

#[test]
fn readings_only_ever_lower_the_level() {
    let mut window = declared(100, MINUTE);
    window.take(50.0, 0);
    window.read(Some(100), Some(90), None, 0, 0);
    assert_eq!(window.level_at(0), 30.0);
    window.read(Some(100), Some(10), None, 0, 0);
    assert_eq!(window.level_at(0), 10.0);
}

#[test]
fn nothing_goes_before_the_reset_of_a_window_that_is_spent() {
    let mut window = declared(100, MINUTE);
    window.read(Some(100), Some(0), Some(50_000), 0, 0);
    assert_eq!(window.fits_at(1.0, 0), Fit::At(50_000));
    assert_eq!(window.fits_at(1.0, 49_999), Fit::At(50_000));
    assert_eq!(window.level_at(50_000), 80.0, "full at its reset");
}

#[test]
fn a_later_reading_with_the_same_reset_never_raises_the_level() {
    let mut window = declared(100, MINUTE);
    window.read(Some(100), Some(0), Some(50_000), 0, 0);
    window.read(Some(100), Some(60), Some(50_000), 10_000, 10_000);
    assert_eq!(window.fits_at(1.0, 10_000), Fit::At(50_000));
    window.give_back(40.0, 20_000);
    assert_eq!(window.fits_at(1.0, 20_000), Fit::At(50_000), "nor does a launch that needed less");
}

#[test]
fn a_window_whose_reset_stands_still_does_not_refill_before_it() {
    let mut window = declared(100, MINUTE);
    window.read(Some(100), Some(40), Some(50_000), 0, 0);
    assert!(window.level_at(6_000) > 40.0, "a bucket, for all that is known");
    window.read(Some(100), Some(20), Some(50_000), 3_000, 3_000);
    window.give_back(30.0, 3_500);
    assert_eq!(window.level_at(49_000), 20.0, "nor by a launch that needed less: the service has counted");
    assert_eq!(window.fits_at(30.0, 4_000), Fit::At(50_000));
}

#[test]
fn responses_of_one_moment_do_not_make_a_bucket_stand_still() {
    let mut window = declared(100, MINUTE);
    for (left, now) in [(40, 0), (39, 10), (38, 20), (38, 1_000)] {
        window.read(Some(100), Some(left), Some(36_000 + now), now, now);
    }
    assert!(window.level_at(7_000) > 40.0);
}

#[test]
fn answers_that_come_late_do_not_make_a_bucket_stand_still() {
    let mut window = declared(100, MINUTE);
    window.read(Some(100), Some(40), Some(37_000), 0, 500);
    window.read(Some(100), Some(39), Some(37_000), 100, 4_600);
    assert!(window.level_at(10_600) > 40.0, "both were said at one moment");
}

#[test]
fn a_bucket_that_is_spent_refills() {
    let mut window = declared(100, MINUTE);
    window.read(Some(100), Some(0), Some(61_000), 500, 3_000);
    assert_eq!(window.fits_at(10.0, 3_000), Fit::At(9_000));
}

#[test]
fn a_bucket_that_few_draw_on_is_not_taken_for_one_that_stands_still() {
    let mut window = declared(100, MINUTE);
    window.read(Some(100), Some(40), Some(36_000), 0, 0);
    window.read(Some(100), Some(52), Some(36_600), 8_000, 8_000);
    assert!(window.level_at(20_000) > 60.0, "the level has risen although the reset has hardly moved");
}

#[test]
fn a_bucket_whose_reset_moves_refills() {
    let mut window = declared(100, MINUTE);
    window.read(Some(100), Some(40), Some(36_000), 0, 0);
    window.read(Some(100), Some(20), Some(53_000), 5_000, 5_000);
    assert_eq!(window.fits_at(30.0, 5_000), Fit::At(11_000));
}

#[test]
fn a_plan_of_hours_is_full_at_its_reset_and_not_before() {
    let mut window = Window::new(&key(5 * HOUR), 0.8, 0);
    window.read(Some(100), Some(3), Some(2 * HOUR), 0, 0);
    assert_eq!(window.fits_at(4.0, 0), Fit::At(2 * HOUR));
}

#[test]
fn a_reading_never_expires_into_no_limit_at_all() {
    let mut window = Window::new(&key(MINUTE), 1.0, 0);
    window.read(Some(10), Some(10), None, 0, 0);
    let later = 90 * 24 * HOUR;
    window.take(10.0, later);
    assert_ne!(window.fits_at(5.0, later), Fit::Now);
}

#[test]
fn without_a_limit_the_most_that_was_ever_left_stands_in() {
    let mut window = Window::new(&key(MINUTE), 0.8, 0);
    window.read(None, Some(400), Some(30_000), 0, 0);
    window.read(None, Some(100), Some(30_000), 10, 10);
    assert_eq!((window.capacity(), window.level_at(20)), (400.0, 100.0));
    assert_eq!(window.level_at(30_000), 400.0);
    assert_eq!(window.fits_at(9_000.0, 30_000), Fit::Now, "more than was ever seen may still be less than the limit");
}

#[test]
fn a_draw_between_the_margin_and_the_limit_goes_when_the_window_is_full() {
    let mut window = declared(100, MINUTE);
    assert_eq!(window.fits_at(95.0, 0), Fit::Now);
    window.take(95.0, 0);
    assert!(window.level_at(0) < 0.0);
    assert_eq!(window.fits_at(101.0, 0), Fit::Never);
}

#[test]
fn one_unit_fits_even_where_the_margin_leaves_less_of_a_small_limit() {
    let mut window = declared(1, MINUTE);
    assert_eq!(window.fits_at(1.0, 0), Fit::Now);
    window.take(1.0, 0);
    assert_eq!(window.fits_at(1.0, 0), Fit::At(MINUTE));
}

#[test]
fn the_lower_of_the_configured_and_the_told_limit_holds() {
    let mut window = declared(100, MINUTE);
    window.read(Some(50), None, None, 0, 0);
    assert_eq!(window.limit(), Some(50));
    window.read(Some(4_000), None, None, 0, 0);
    assert_eq!(window.limit(), Some(100));
    window.read(Some(0), None, None, 0, 0);
    assert_eq!(window.limit(), Some(100), "a limit of nothing is a word for not known");
}

#[test]
fn a_hostile_use_or_reset_spoils_a_window_for_a_bounded_time_only() {
    let mut window = declared(100, MINUTE);
    window.take(1e18, 0);
    assert_eq!(window.fits_at(80.0, 0), Fit::At(2 * MINUTE));
    window.read(Some(100), Some(0), Some(u64::MAX), 0, 0);
    assert_eq!(window.fits_at(1.0, 0), Fit::At(32 * 24 * HOUR));
}

#[test]
fn a_margin_that_is_no_share_is_made_one() {
    for (margin, capacity) in [(-1.0, 1.0), (9.0, 100.0), (f64::NAN, 80.0)] {
        let mut window = Window::new(&key(MINUTE), margin, 0);
        window.declare(100);
        assert_eq!(window.capacity(), capacity, "{margin}");
    }
}

#[test]
fn every_dimension_has_one_word() {
    for word in ["requests", "tokens", "input-tokens", "output-tokens", "concurrency", "spend"] {
        assert_eq!(Dimension::parse(word).map(Dimension::as_str), Some(word));
    }
    assert_eq!(Dimension::parse("furlongs"), None);
}
