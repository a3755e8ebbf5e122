"""Checks calendarCases.json, the starts of windows, against the IANA time zone database as Python's zoneinfo reads it.

Run: python3 test/engine/kinds/calendarCases.py

A case has the zone, the period, the anchor, a description, the first start, and the minutes from each start to the next. This program
shares nothing with the code under test. It walks in steps of half a minute until the clocks show the nominal start or later. It was run
with version 2025b of the database.
"""
import datetime as dt
import itertools
import json
import pathlib
from zoneinfo import ZoneInfo

HALF_MINUTE = dt.timedelta(seconds=30)
DAY = dt.timedelta(days=1)


def nominal_starts(period, anchor, date):
    """The nominal starts, from the window that begins on this date or on the last day before it."""
    if period == "week":
        date -= (date.isoweekday() - anchor) % 7 * DAY
    while True:
        following = (date.replace(day=1) + 31 * DAY).replace(day=1)
        if period == "month":
            yield date.replace(day=min(anchor, (following - DAY).day))
        else:
            yield date + (dt.timedelta(minutes=anchor) if period == "day" else 0 * DAY)
        date = following if period == "month" else date + (7 * DAY if period == "week" else DAY)


def first_time(zone, local):
    time = (local - 2 * DAY).replace(tzinfo=dt.timezone.utc)
    while time.astimezone(zone).replace(tzinfo=None) < local:
        time += HALF_MINUTE
    return time


def found(zone, period, anchor, first, last):
    """The starts from the first to the last. If several windows start at the same time, all but the last are empty and do not count."""
    local = first.astimezone(zone).replace(tzinfo=None) - (dt.timedelta(minutes=anchor) if period == "day" else 0 * DAY)
    date = local.replace(hour=0, minute=0, second=0)
    times = (first_time(zone, start) for start in nominal_starts(period, anchor, date))
    starts = dict.fromkeys(itertools.takewhile(lambda time: time <= last, times))
    return [start for start in starts if start >= first]


cases = json.loads(pathlib.Path(__file__).with_suffix(".json").read_text())
for zone, period, anchor, about, first, minutes in cases:
    starts = [dt.datetime.fromisoformat(first.replace("Z", "+00:00"))]
    for each in minutes:
        starts.append(starts[-1] + dt.timedelta(minutes=each))
    assert starts == found(ZoneInfo(zone), period, anchor, starts[0], starts[-1]), (zone, period, anchor, about)
print(f"{len(cases)} cases are right.")
