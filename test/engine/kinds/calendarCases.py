"""Writes calendarCases.json: starts of windows, from the IANA time zone database as Python's zoneinfo reads it.

Run: python3 test/engine/kinds/calendarCases.py && npx prettier --write test/engine/kinds/calendarCases.json

Of each zone: period, anchor, what happens there, the first start, and the minutes from each start to the next.

It has nothing in common with the code under test: it walks from half minute to half minute until the clocks show the nominal
start or later. Committed with version 2025b of the database.
"""
import datetime as dt
import json
import pathlib
from zoneinfo import ZoneInfo

HALF_MINUTE = dt.timedelta(seconds=30)
DAY = dt.timedelta(days=1)

# period, zone, anchor, first nominal date, number of nominal windows, what happens there
CASES = [
    ("day", "UTC", 0, "2024-02-27", 4, "a leap day"),
    ("day", "UTC", 0, "2100-02-27", 3, "2100 is no leap year"),
    ("day", "UTC", 1439, "2023-12-30", 3, "days that begin a minute before midnight"),
    ("week", "UTC", 1, "2024-12-16", 4, "weeks from Monday, across the change of year"),
    ("week", "UTC", 7, "1969-12-14", 4, "weeks from Sunday, around the epoch"),
    ("month", "UTC", 1, "1969-10-01", 5, "months around the epoch"),
    ("month", "UTC", 31, "2023-11-01", 15, "anchor 31, across a leap year"),
    ("month", "UTC", 29, "2022-12-01", 16, "anchor 29, in a common year and in a leap year"),
    ("month", "UTC", 30, "2099-12-01", 5, "anchor 30, in February 2100"),
    ("day", "Europe/Berlin", 0, "2024-03-30", 4, "23 hours: Directive 2000/84/EC, last Sunday of March"),
    ("day", "Europe/Berlin", 0, "2024-10-26", 4, "25 hours: Directive 2000/84/EC, last Sunday of October"),
    ("day", "Europe/Berlin", 150, "2024-03-30", 3, "02:30 is skipped"),
    ("day", "Europe/Berlin", 150, "2024-10-26", 3, "02:30 comes twice"),
    ("week", "Europe/Berlin", 1, "2024-03-18", 4, "a week of 167 hours"),
    ("week", "Europe/Berlin", 3, "2024-12-25", 3, "weeks from Wednesday, across the change of year"),
    ("month", "Europe/Berlin", 31, "2024-01-01", 12, "anchor 31, with both changes of clocks"),
    ("day", "America/New_York", 0, "2024-03-09", 4, "Energy Policy Act of 2005: second Sunday of March"),
    ("day", "America/New_York", 0, "2024-11-02", 4, "Energy Policy Act of 2005: first Sunday of November"),
    ("day", "America/New_York", 0, "2006-04-01", 3, "before that act: first Sunday of April"),
    ("week", "America/New_York", 7, "2024-03-03", 3, "weeks from Sunday, the day of the change"),
    ("month", "America/New_York", 15, "2024-01-01", 13, "anchor 15"),
    ("day", "America/Sao_Paulo", 0, "2018-11-02", 5, "Decree 9242 of 2017: midnight of 4 November is skipped"),
    ("day", "America/Sao_Paulo", 0, "2018-02-16", 4, "back from midnight to 23:00: midnight comes once, late"),
    ("day", "America/Sao_Paulo", 30, "2018-11-03", 3, "00:30 is skipped"),
    ("day", "America/Sao_Paulo", 1410, "2018-02-16", 3, "23:30 comes twice"),
    ("week", "America/Sao_Paulo", 7, "2018-10-28", 3, "the week's first midnight is skipped"),
    ("month", "America/Sao_Paulo", 4, "2018-10-01", 3, "the month's first midnight is skipped"),
    ("day", "America/Havana", 0, "2024-03-09", 3, "midnight is skipped"),
    ("day", "America/Havana", 0, "2024-11-02", 3, "back from 01:00 to 00:00: midnight comes twice"),
    ("day", "America/Boa_Vista", 0, "2000-10-06", 11, "summer time of one week, the shortest since 1970"),
    ("day", "America/Boa_Vista", 720, "2000-10-06", 11, "the same, from noon to noon"),
    ("day", "America/St_Johns", 0, "2006-04-01", 3, "forward from 00:01 to 01:01"),
    ("day", "America/St_Johns", 0, "2006-10-28", 4, "back from 00:01 to 23:01 of the day before"),
    ("day", "America/St_Johns", 0, "1988-04-02", 3, "two hours forward, from 00:01 to 02:01"),
    ("day", "Africa/Cairo", 0, "2023-04-27", 3, "Law 24 of 2023: midnight of the last Friday of April is skipped"),
    ("day", "Africa/Cairo", 0, "2023-10-26", 3, "Law 24 of 2023: back at the end of the last Thursday of October"),
    ("day", "Africa/Casablanca", 0, "2024-03-09", 3, "back for Ramadan"),
    ("day", "Africa/Monrovia", 0, "1972-01-05", 4, "an offset of 44 minutes 30 seconds is given up"),
    ("day", "Asia/Beirut", 0, "2024-03-30", 3, "midnight is skipped"),
    ("day", "Asia/Beirut", 0, "2024-10-26", 3, "back from midnight to 23:00"),
    ("day", "Asia/Gaza", 0, "2021-03-26", 3, "midnight is skipped"),
    ("day", "Asia/Gaza", 0, "2021-10-28", 3, "back from 01:00 to 00:00: midnight comes twice"),
    ("day", "Asia/Kathmandu", 0, "2024-01-01", 2, "5 hours 45 minutes ahead of UTC"),
    ("day", "Asia/Kathmandu", 0, "1985-12-30", 4, "a quarter of an hour forward, at midnight of 1 January 1986"),
    ("month", "Asia/Kathmandu", 1, "1985-11-01", 4, "the same, by the month"),
    ("day", "Atlantic/Azores", 0, "2024-10-26", 3, "back from 01:00 to 00:00: midnight comes twice"),
    ("day", "Australia/Lord_Howe", 105, "2024-04-06", 3, "half an hour back: 01:45 comes twice"),
    ("day", "Australia/Lord_Howe", 135, "2024-10-05", 3, "half an hour forward: 02:15 is skipped"),
    ("day", "Australia/Lord_Howe", 0, "2024-04-06", 3, "a day of 24 hours 30 minutes"),
    ("day", "Pacific/Apia", 0, "2011-12-28", 6, "International Date Line Act 2011: there was no 30 December"),
    ("day", "Pacific/Apia", 600, "2011-12-28", 6, "of a day from 10:00 to 10:00, ten hours are left"),
    ("week", "Pacific/Apia", 5, "2011-12-16", 5, "the week's first day never was"),
    ("month", "Pacific/Apia", 30, "2011-10-01", 5, "the month's first day never was"),
    ("day", "Pacific/Fakaofo", 0, "2011-12-28", 5, "there was no 30 December"),
    ("day", "Pacific/Kwajalein", 0, "1993-08-19", 5, "there was no 21 August"),
    ("day", "Pacific/Kiritimati", 0, "1994-12-29", 6, "a day and 40 minutes were skipped"),
    ("month", "Pacific/Kiritimati", 31, "1994-10-01", 5, "the month's first day never was"),
    ("day", "Pacific/Kanton", 1439, "1994-12-29", 5, "there was no 31 December"),
]


def nominal_starts(period, anchor, first, count):
    date = dt.datetime.fromisoformat(first)
    for _ in range(count):
        if period == "month":
            following = (date.replace(day=1) + 31 * DAY).replace(day=1)
            yield date.replace(day=min(anchor, (following - DAY).day))
            date = following
        elif period == "week":
            assert date.isoweekday() == anchor, (first, anchor)
            yield date
            date += 7 * DAY
        else:
            yield date + dt.timedelta(minutes=anchor)
            date += DAY


def first_moment(zone, local):
    moment = (local - 2 * DAY).replace(tzinfo=dt.timezone.utc)
    while moment.astimezone(zone).replace(tzinfo=None) < local:
        moment += HALF_MINUTE
    return moment


def case(period, zone, anchor, first, count, about):
    moments = (first_moment(ZoneInfo(zone), local) for local in nominal_starts(period, anchor, first, count))
    # Of windows that start at one moment all but the last are empty: they never were.
    starts = list(dict.fromkeys(moments))
    minutes = [(later - start) / dt.timedelta(minutes=1) for start, later in zip(starts, starts[1:])]
    return [period, anchor, about, starts[0].strftime("%Y-%m-%dT%H:%M:%SZ"), minutes]


cases = {zone: [case(*one) for one in CASES if one[1] == zone] for zone in dict.fromkeys(one[1] for one in CASES)}
path = pathlib.Path(__file__).with_suffix(".json")
path.write_text(json.dumps(cases).replace(".0,", ",").replace(".0]", "]"))
