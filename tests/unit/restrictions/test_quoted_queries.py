"""The queries that the paper quotes from other systems, with traces of ours (SOURCES A10 and A11)."""

from __future__ import annotations

from statistics import mean

from cartesius import Delete, Engine, Reactive, Update, correlate, each, one_or_more, repeated, run
from restrictions import (
    affinely,
    combine_latest,
    first_match,
    in_sequence,
    key_by,
    momentarily,
    retracting,
    sliding,
    within,
)  # fmt: skip
from restrictions.streams import map_
from restrictions.time.duration import lasting

MINUTE = 1
DAY = 1

# --------------------------------------------------------------------------------------------------------- SASE+, A11.1

stock = Reactive("stock")
PRICES = [(0, 10.0, 1200), (1, 11.0, 1000), (2, 10.2, 950), (3, 12.0, 1000), (4, 10.9, 700)]


def is_rising(a):
    """``a[1].volume > 1000`` and, for i > 1, ``a[i].price > avg(a[..i-1].price)``; SASE+ counts from 1."""
    return a[0].volume > 1000 and (len(a) == 1 or a[-1].price > mean(earlier.price for earlier in a[:-1]))


def quotes(last, symbol="ICFP"):
    times = [*range(4), last]
    return [
        (stock, {"symbol": symbol, "minute": time, "price": price, "volume": volume}, time)
        for time, (_, price, volume) in zip(times, PRICES, strict=True)
    ]


def falls(**options):
    """``SEQ(Stock+ a[], Stock b)`` within an hour: the volume falls after a rise of the price."""
    return correlate(
        a=one_or_more(stock, where=is_rising),
        b=stock,
        where=lambda a, b: b.volume < 0.8 * a[-1].volume,
        yields=_minutes,
        restrict=key_by(a="symbol", b="symbol") | in_sequence("a", "b") | within(60 * MINUTE, "a", "b"),
        **options,
    )


def _minutes(a, b):
    return [quote.minute for quote in a], b.minute


def test_sase_finds_the_one_match_of_the_trace():
    assert [event.value for event in run(falls(), quotes(last=4))] == [([0, 1, 3], 4)]


def test_sase_finds_none_if_the_last_quote_comes_after_an_hour():
    assert [event.value for event in run(falls(), quotes(last=60))] == [([0, 1, 3], 60)]
    assert run(falls(), quotes(last=61)) == []


def test_sase_has_the_same_symbol_throughout():
    mixed = [one for pair in zip(quotes(4, "A"), quotes(4, "B"), strict=True) for one in pair]
    assert [event.value for event in run(falls(), mixed)] == [([0, 1, 3], 4)] * 2
    other = [*quotes(4, "A")[:-1], *quotes(4, "B")[-1:]]
    assert run(falls(), other) == []


def test_sase_the_match_has_the_time_from_its_first_to_its_last_quote():
    (event,) = run(falls(), quotes(last=4))
    assert (event.start, event.end) == (0, 4)


def test_sase_goes_on_after_a_restore_between_any_two_quotes():
    for cut in range(len(PRICES)):
        engine, found = Engine(falls(name="falls")), []
        for number, (source, value, time) in enumerate(quotes(last=4)):
            if number == cut:
                engine = Engine.restore(engine.snapshot(), falls(name="falls"))
            found += engine.push(source, value, at=time)
        assert [event.value for event in found] == [([0, 1, 3], 4)]


# ------------------------------------------------------------------------------------------------ reviews(5) of TV, A10

releases, reviews = Reactive("releases"), Reactive("reviews")
GOOD = [(4.0, 4), (3.5, 5), (5.0, 7), (4.5, 8), (3.6, 9)]


def review(rating, day, model="M"):
    return reviews, {"model": model, "rating": rating, "day": day}, day


TRACE = [
    (releases, {"model": "M"}, 3),
    *sorted([*[review(*good) for good in GOOD], review(2.0, 6), review(5.0, 6, "N")], key=lambda push: push[2]),
]


def liked(restrict=None):
    """New releases with five good reviews (within a month, by ``restrict``)."""
    return correlate(
        release=releases,
        reviews=repeated(reviews, 5),
        where=lambda release, reviews: each(reviews, lambda r: (r.rating >= 3.5) & (r.model == release.model)),
        yields=lambda release, reviews: (release.model, reviews),
        restrict=restrict,
    )


def shown(events):
    return [(event.value[0], [one.day for one in event.value[1]], event.start, event.end) for event in events]


def test_a_release_with_five_good_reviews_comes_out_with_the_fifth():
    engine = Engine(liked())
    for source, value, day in TRACE[:-1]:
        assert engine.push(source, value, at=day) == []
    source, value, day = TRACE[-1]
    assert shown(engine.push(source, value, at=day)) == [("M", [4, 5, 7, 8, 9], 3, 9)]


def test_the_review_of_another_model_and_a_bad_one_change_nothing():
    others = [push for push in TRACE if push[1].get("model") == "M" and push[1].get("rating") != 2.0]
    assert shown(run(liked(), others)) == shown(run(liked(), TRACE))


def test_within_a_month_of_the_release():
    assert len(run(liked(within(30 * DAY, "release", "reviews")), TRACE)) == 1
    late = [*TRACE[:-1], review(3.6, 33)]
    assert len(run(liked(within(30 * DAY, "release", "reviews")), late)) == 1
    later = [*TRACE[:-1], review(3.6, 34)]
    assert run(liked(within(30 * DAY, "release", "reviews")), later) == []


def test_every_choice_of_five_good_reviews_is_a_result():
    days = [event[1] for event in shown(run(liked(), [*TRACE, review(4.0, 10)]))]
    assert days == [
        [4, 5, 7, 8, 9],
        [5, 7, 8, 9, 10],
        [4, 7, 8, 9, 10],
        [4, 5, 8, 9, 10],
        [4, 5, 7, 9, 10],
        [4, 5, 7, 8, 10],
    ]


def test_a_release_that_is_used_once_comes_out_once():
    assert len(run(liked(affinely("release")), [*TRACE, review(4.0, 10), review(4.0, 11)])) == 1
    together = [*TRACE[1:], review(4.0, 10), TRACE[0]]  # the release comes last, and six reviews are there
    assert shown(run(liked(first_match()), [(source, value, 11) for source, value, _ in together])) == [
        ("M", [5, 7, 8, 9, 10], 11, 11)
    ]


def test_once_in_each_of_the_24_windows_that_hold_the_release_and_its_reviews():
    assert len(run(liked(sliding(30 * DAY, 1 * DAY)), TRACE)) == 24
    more = [*TRACE, review(4.0, 10)]
    assert len(run(liked(sliding(30 * DAY, 1 * DAY) | affinely("release")), more)) == 24
    assert len(run(liked(sliding(30 * DAY, 1 * DAY)), more)) == 24 + 23 * 5


def test_a_review_that_is_taken_back_takes_its_choices_back():
    table = Reactive("rows", table=True)
    kept = correlate(t=table, yields=lambda t: t, restrict=retracting())
    liked_by_now = correlate(
        release=releases,
        reviews=repeated(kept, 2),
        where=lambda release, reviews: each(reviews, lambda r: r.rating >= 3.5),
        yields=lambda release, reviews: [one.rating for one in reviews],
        restrict=retracting(),
    )
    engine = Engine(liked_by_now)
    engine.push(releases, {"model": "M"})
    engine.push(table, Update("ann", {"rating": 4}))
    assert [event.value for event in engine.push(table, Update("bob", {"rating": 5}))] == [[4, 5]]
    changes = engine.push(table, Update("ann", {"rating": 3.5}))
    assert [(event.value, event.weight) for event in changes] == [([4, 5], -1), ([5, 3.5], 1)]
    assert [(event.value, event.weight) for event in engine.push(table, Delete("bob"))] == [([5, 3.5], -1)]


# -------------------------------------------------------------------------------------------------------- FrTime, A11.3


def test_frtime_lifts_a_division_over_two_signals():
    mouse, window = Reactive("mouse-pos"), Reactive("window")
    x, width = map_(mouse, lambda at: at.x), map_(window, lambda size: size.width)
    ratio = map_(combine_latest(x, width), lambda both: both[0] / both[1])
    trace = [
        (mouse, {"x": 50, "y": 1}),
        (window, {"width": 100}),
        (mouse, {"x": 80, "y": 2}),
        (window, {"width": 160}),
    ]
    assert [event.value for event in run(ratio, trace)] == [0.5, 0.8, 0.5]


# ------------------------------------------------------------------------------------------------------------- CQL

HOUR = 60


def test_cql_finds_the_auctions_that_close_within_five_hours_of_opening():
    """``select istream(Close.item_id) from Close[Now], Open[Range 5 hours] where Close.item_id = Open.item_id``."""
    opened, closed = Reactive("opened"), Reactive("closed")
    soon = correlate(
        close=closed,
        open=opened,
        where=lambda close, open: close.item == open.item,
        yields=lambda close: close.item,
        restrict=momentarily("close") | lasting("open", 5 * HOUR),
    )
    trace = [
        (opened, {"item": 7}, 1 * HOUR),
        (opened, {"item": 8}, 2 * HOUR),
        (closed, {"item": 7}, 5 * HOUR),
        (closed, {"item": 8}, 8 * HOUR),
    ]
    engine = Engine(soon, lateness=0)
    emitted = [[(event.value, event.end) for event in engine.push(r, value, at=at)] for r, value, at in trace]
    assert emitted == [[], [], [(7, 5 * HOUR)], []]
    assert engine.stats.retained == 0
