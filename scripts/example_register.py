"""Writes a made-up register for docs/guide-for-data-stewards.md: 20,000 records, 12 columns.

python3 scripts/example_register.py > register.csv

Nobody in it exists: every value is drawn from a fixed seed. 150 people have two records."""
import csv, math, random, sys
from datetime import date, timedelta

RECORDS, TWICE = 20_000, 150
COLUMNS = ["person_id", "registered", "surveyed", "age", "sex", "region", "postcode", "household",
           "income", "employed", "insured", "occupation"]
QUARTERS = ["2025-03-31", "2025-06-30", "2025-09-30", "2025-12-31"]
REGIONS = {"North": "01", "East": "02", "South": "03", "West": "04"}
OCCUPATIONS = ["nurse", "teacher", "clerk", "driver", "cook", "electrician", "cleaner", "farmer",
               "programmer", "shop assistant", "carpenter", "baker"]
RARE = ["beekeeper", "bell ringer", "cellist", "glass blower", "lighthouse keeper", "organ builder",
        "puppeteer", "sail maker", "stone mason", "tea taster", "thatcher", "watchmaker"]
draw = random.Random(20251231).random


def pick(weights):
    """Draws a key of a mapping from keys to weights."""
    left = draw() * sum(weights.values())
    for key, weight in weights.items():
        left -= weight
        if left < 0:
            return key
    return key


def normal():
    """Draws a standard normal number."""
    return math.sqrt(-2 * math.log(1 - draw())) * math.cos(2 * math.pi * draw())


def age_of():
    """Draws an age in years."""
    return min(int(100 * draw() * (0.35 + 0.65 * draw()) + 3 * draw()), 99)


def occupation_of():
    """Draws an occupation as people write it: with capitals, misspelt, or with a remark."""
    text = OCCUPATIONS[int(len(OCCUPATIONS) * draw() ** 1.6)]
    kind = draw()
    if kind < 0.03:
        return text.capitalize()
    if kind < 0.05:
        k = 1 + int((len(text) - 2) * draw())
        return text[:k] + text[k + 1] + text[k] + text[k + 2:]
    if kind < 0.06:
        return f"{text}, part-time"
    if kind < 0.08:
        return f"{RARE[int(len(RARE) * draw())]} ({1 + int(40 * draw())} h)"
    return text


def record(person):
    """Draws the values of a record, in the order of the columns."""
    region = pick({"North": 4, "East": 2, "South": 3, "West": 1})
    postcode = f"{REGIONS[region]}{1 + int(10 * draw() ** 1.5):03}"
    age, sex = age_of(), pick({"F": 505, "M": 490, "X": 5})
    adult = age >= 15
    employed = adult and draw() < (0.72 if age < 66 else 0.08)
    typical = 31_000 if employed else 11_000
    scale = {"North": 1.15, "East": 0.85, "South": 1.0, "West": 0.95}[region]
    income = 0.0
    if adult:
        income = typical * scale * math.exp(0.55 * normal())
        if draw() < 0.02:
            income *= (1 - draw()) ** -0.8
        if draw() < 0.004:
            income = -income / 4
    day = date(2015, 1, 1) + timedelta(int(3652 * draw()))
    household = 1 + int(5.2 * draw() ** 2) + int(6 * draw() ** 9)
    return [
        f"P{person:06}",
        day.isoformat(),
        QUARTERS[int(4 * draw())],
        "" if draw() < 0.04 else age,
        sex,
        region,
        postcode,
        household,
        "" if draw() < 0.03 else f"{income:.2f}",
        "true" if employed else "false",
        "true" if draw() < (0.97 if employed else 0.88) else "false",
        occupation_of() if employed else "",
    ]


def main():
    people = RECORDS - TWICE
    persons = [100_000 + k for k in range(people)]
    persons += [100_000 + int(people * draw()) for _ in range(TWICE)]
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(COLUMNS)
    records = sorted((draw(), person) for person in persons)
    writer.writerows(record(person) for _, person in records)


if __name__ == "__main__":
    main()
