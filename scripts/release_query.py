"""Queries in words of a workload, and the groups that measure them (docs/releasing.md, Ask for
answers).

A query is read in three steps: words and symbols, the syntax tree, and rows of weights per attribute.
The weights of a query are products of one row per attribute; a count has rows of 0 and 1, a sum the
numbers of the cells, and a quantile one row per cell k: the cells up to k."""
import itertools, unicodedata
from collections import namedtuple
from fractions import Fraction
import numpy as np

MEASURES = ("total", "count", "sum", "mean", "median", "quantile", "share")
RESERVED = ("where", "by", "and", "in", "between", "of", "or", "not")
SYMBOLS = ("!=", "<=", ">=", "(", ")", ",", "=", "<", ">", "-", "+")
OPERATORS = ("=", "!=", "<", "<=", ">", ">=")

Token = namedtuple("Token", "kind text")  # kind: plain, quoted, symbol, end
Term = namedtuple("Term", "sign measure name share part conditions by")
Condition = namedtuple("Condition", "name test values")
Span = namedtuple("Span", "low low_is_in high high_is_in")  # None for an open end

class BadQuery(Exception):
    """Text outside the grammar, or names and values that the schema does not have."""

def is_word(c):
    return c in "_.:/" or unicodedata.category(c)[0] in "LMN"

def tokens(text):
    """Returns the words and symbols of a query."""
    found, k = [], 0
    while True:
        while k < len(text) and text[k].isspace():
            k += 1
        if k == len(text):
            return found + [Token("end", "")]
        if text[k] == '"':
            word, k = quoted(text, k + 1)
            found.append(Token("quoted", word))
            continue
        end = k
        while end < len(text) and (is_word(text[end]) or text[end] == "-" and continues(text, k,
                                                                                        end)):
            end += 1
        if end > k:
            found.append(Token("plain", text[k:end]))
            k = end
            continue
        symbol = next((s for s in SYMBOLS if text.startswith(s, k)), None)
        if symbol is None:
            raise BadQuery(f"`{text[k]}` in the query `{text}`")
        found.append(Token("symbol", symbol))
        k += len(symbol)

def continues(text, start, k):  # whether - is in a word: before a digit at its start, or inside
    after = text[k + 1:k + 2]
    return after != "" and (after in "0123456789" if k == start else is_word(after))

def quoted(text, k):  # the word after a quote, and its end; two quotes are one
    word = ""
    while k < len(text):
        if text[k] != '"':
            word += text[k]
        elif text[k + 1:k + 2] == '"':
            word += '"'
            k += 1
        else:
            return word, k + 1
        k += 1
    raise BadQuery(f"no closing quote in the query `{text}`")

class Parser:
    """Reads terms from tokens."""
    def __init__(self, text):
        self.text, self.tokens, self.at = text, tokens(text), 0

    def refuse(self, expected):
        raise BadQuery(f"`{self.tokens[self.at].text}` in place of {expected} in the query "
                       f"`{self.text}`")

    def takes(self, kind, text):
        is_next = self.tokens[self.at] == (kind, text)
        self.at += is_next
        return is_next

    def symbol(self, text):
        if not self.takes("symbol", text):
            self.refuse(f"`{text}`")

    def word(self):
        token = self.tokens[self.at]
        is_reserved = token.kind == "plain" and token.text in RESERVED
        if is_reserved or token.kind not in ("plain", "quoted"):
            self.refuse("a name or a value")
        self.at += 1
        return token.text

    def query(self):
        terms = [self.term(1.0)]
        while self.tokens[self.at].kind != "end":
            sign = -1.0 if self.takes("symbol", "-") else 1.0
            if sign > 0:
                self.symbol("+")
            terms.append(self.term(sign))
        return terms

    def term(self, sign):
        measure, name, share, part = self.tokens[self.at].text, None, None, []
        if self.tokens[self.at].kind != "plain" or measure not in MEASURES:
            self.refuse(f"one of {', '.join(MEASURES)}")
        self.at += 1
        if measure == "share":
            if not self.takes("plain", "of"):
                self.refuse("`of`")
            part = self.conditions()
        elif measure not in ("total", "count"):
            self.symbol("(")
            name = self.name()
            if measure == "quantile":
                self.symbol(",")
                share = float(self.word())
            self.symbol(")")
        conditions, by = [], []
        while measure != "total":
            if not conditions and self.takes("plain", "where"):
                conditions = self.conditions()
            elif not by and self.takes("plain", "by"):
                by = [self.name()]
                while self.takes("symbol", ","):
                    by.append(self.name())
            else:
                break
        if measure == "median":
            measure, share = "quantile", 0.5
        if measure == "quantile" and not 0 < share < 1:
            self.refuse("a share between 0 and 1")
        return Term(sign, measure, name, share, part, conditions, by)

    def conditions(self):
        found = [self.condition()]
        while self.takes("plain", "and"):
            found.append(self.condition())
        return found

    def condition(self):
        name = self.name()
        if self.takes("plain", "in"):
            self.symbol("(")
            values = [self.word()]
            while self.takes("symbol", ","):
                values.append(self.word())
            self.symbol(")")
            return Condition(name, "in", values)
        if self.takes("plain", "between"):
            low = self.word()
            if not self.takes("plain", "and"):
                self.refuse("`and`")
            return Condition(name, "between", [low, self.word()])
        for operator in OPERATORS:
            if self.takes("symbol", operator):
                return Condition(name, operator, [self.word()])
        return Condition(name, "is true", [])

    def name(self):  # of an attribute or a level, with the attribute of the level if it is given
        first = self.word()
        return (first, self.word()) if self.takes("plain", "of") else (first, None)

def target(schema, name):
    """Returns the position of the attribute of a name, and the nodes of its level or None."""
    first, attribute = name
    if attribute is not None:
        position = schema.names.index(attribute)
        return position, dict(schema.attributes[position].levels)[first]
    if first in schema.names:
        return schema.names.index(first), None
    found = [(p, nodes) for p, a in enumerate(schema.attributes) for level, nodes in a.levels
             if level == first]
    if len(found) != 1:
        raise BadQuery(f"`{first}`, the name of {len(found)} levels")
    return found[0]

def spans(attribute):
    """Returns the numbers of every cell, None for a cell without numbers, and whether these are
    times. All are None without an order."""
    found, are_times = [None] * attribute.size, False
    one = lambda x: Span(x, True, x, True)
    if attribute.edges is not None:
        for cell in range(attribute.coded):
            found[cell] = of_bin(attribute, cell)
    elif attribute.values is not None:
        known = [attribute.kind_of(value) for value in attribute.values]
        are_times = any(kind == "time" for kind, _ in known)
        for cell, (kind, value) in enumerate(known):
            if kind == ("time" if are_times else "number"):
                found[cell] = one(Fraction(value))
    elif attribute.numeric:
        found[:attribute.coded] = [one(Fraction(k)) for k in range(attribute.coded)]
    return found, are_times

def of_bin(attribute, cell):
    edges, integer = attribute.edges, attribute.integer
    ceiling = lambda x: Fraction(-(-x // 1))
    floor = lambda x: Fraction(x // 1)
    k, last = cell - attribute.below, len(edges) - 2
    if k < 0:
        return Span(None, False, ceiling(edges[0]) - 1, True) if integer else \
            Span(None, False, edges[0], False)
    if k > last:
        return Span(floor(edges[-1]) + 1, True, None, False) if integer else \
            Span(edges[-1], False, None, False)
    if integer:
        high = floor(edges[-1]) if k == last else ceiling(edges[k + 1]) - 1
        return Span(ceiling(edges[k]), True, high, True)
    return Span(edges[k], True, edges[k + 1], k == last)

def chosen(schema, condition):
    """Returns the position of the attribute of a condition, and which of its cells meet it."""
    position, nodes = target(schema, condition.name)
    attribute, values = schema.attributes[position], condition.values
    cells = range(attribute.size)
    if condition.test == "is true":
        cell = None if nodes else attribute.code(True)
        found = [k == cell for k in cells]
    elif condition.test in ("=", "!=", "in"):
        found = [any(row) for row in zip(*(equal(attribute, nodes, value) for value in values))]
        if condition.test == "!=":
            missing = attribute.missing
            found = [not is_in and k != missing for k, is_in in enumerate(found)]
    elif condition.test == "between":
        found = [a and b for a, b in zip(ordered(attribute, nodes, ">=", values[0]),
                                         ordered(attribute, nodes, "<=", values[1]))]
    else:
        found = ordered(attribute, nodes, condition.test, values[0])
    if not any(found):
        raise BadQuery(f"no value of `{condition.name[0]}` meets a condition")
    return position, np.array(found)

def equal(attribute, nodes, text):  # the cells of a value, or those of a node
    if nodes is not None:
        if text not in nodes:
            raise BadQuery(f"no node `{text}`")
        return [node == text for node in nodes]
    cell = attribute.code(text.strip())
    if cell is None:
        raise BadQuery(f"no value `{text}` of `{attribute.name}`")
    span = spans(attribute)[0][cell]
    if attribute.edges is not None and span is not None and span.low != span.high:
        raise BadQuery(f"`{text}` inside a bin of `{attribute.name}`")
    return [k == cell for k in range(attribute.size)]

def ordered(attribute, nodes, operator, text):  # the cells on one side of a limit
    of_cells, are_times = spans(attribute)
    limit = attribute.limit(text, are_times)
    if nodes is not None or limit is None or not any(of_cells):
        raise BadQuery(f"no order of `{attribute.name}`, or no limit `{text}`")
    found = []
    for span in of_cells:
        if span is None:
            found.append(False)
            continue
        at_most, strict = operator in ("<=", ">"), operator in ("<", ">=")
        is_below = span.high is not None and (span.high < limit or span.high == limit and (
            at_most or not span.high_is_in))
        is_above = span.low is not None and (span.low > limit or span.low == limit and (
            strict or not span.low_is_in))
        if not is_below and not is_above:
            raise BadQuery(f"the limit `{text}` inside a bin of `{attribute.name}`")
        found.append(is_below == (operator in ("<", "<=")))
    return found

class Rows:
    """The cells of a term by attribute: those of its conditions, and of its combinations."""
    def __init__(self, schema, term):
        self.schema, self.masks, self.part, self.by = schema, {}, {}, {}
        for masks, conditions in ((self.masks, term.conditions), (self.part, term.part)):
            for condition in conditions:
                position, cells = chosen(schema, condition)
                masks[position] = cells & masks.get(position, True)
        if not all(mask.any() for mask in self.masks.values()):
            raise BadQuery("conditions that exclude each other")
        for name in term.by:
            position, nodes = target(schema, name)
            size = schema.sizes[position]
            rows = np.eye(size, dtype=bool) if nodes is None else \
                np.array([[node == label for node in nodes] for label in dict.fromkeys(nodes)])
            if position in self.by:
                raise BadQuery(f"`{name[0]}` twice")
            rows = rows & self.masks.get(position, True)
            self.by[position] = rows[rows.any(axis=1)]

    def products(self, factors):
        """Returns the rows per attribute, with factors multiplied into those of an attribute."""
        rows = {p: mask[None, :].astype(float) for p, mask in self.masks.items()}
        rows.update((p, by.astype(float)) for p, by in self.by.items())
        for position, factor in factors.items():
            known = rows.get(position, np.ones((1, self.schema.sizes[position])))
            rows[position] = np.concatenate([row * factor for row in known])
        # One row of ones does not depend on the attribute.
        return {p: of for p, of in sorted(rows.items()) if len(of) != 1 or (of != 1).any()}

    def numbers(self, position):
        """Returns the numbers of the cells that meet the conditions, None for others."""
        attribute = self.schema.attributes[position]
        of_cells, are_times = spans(attribute)
        if not attribute.numeric or are_times:
            raise BadQuery(f"no numbers of `{attribute.name}`")
        mask = self.masks.get(position, np.ones(attribute.size, bool))
        return [span if is_in else None for span, is_in in zip(of_cells, mask)]

def linear(schema, term):
    """Returns the linear queries of a term: rows per attribute."""
    rows = Rows(schema, term)
    if term.measure in ("total", "count"):
        return [rows.products({})]
    if term.measure == "share":
        part = {p: mask[None, :].astype(float) for p, mask in rows.part.items()}
        return [rows.products(part), rows.products({})]
    position, nodes = target(schema, term.name)
    if nodes is not None:
        raise BadQuery(f"no numbers of the level `{term.name[0]}`")
    of_cells = rows.numbers(position)
    if term.measure == "quantile":
        if position in rows.by:
            raise BadQuery(f"a quantile of `{term.name[0]}` by it")
        cells = [k for k, span in enumerate(of_cells) if span is not None]
        # Cells with an open lower end are first.
        cells.sort(key=lambda k: (of_cells[k].low is not None, of_cells[k].low or 0))
        upto = np.zeros((len(cells), len(of_cells)))
        for k in range(len(cells)):
            upto[k, cells[:k + 1]] = 1.0
        return [rows.products({position: upto})]
    if any(span is not None and None in (span.low, span.high) for span in of_cells):
        raise BadQuery(f"an open bin of `{term.name[0]}`")
    middle = [0.0 if s is None else float((s.low + s.high) / 2) for s in of_cells]
    has_value = [float(span is not None) for span in of_cells]
    found = [rows.products({position: np.array([middle])})]
    if term.measure == "mean":
        found.append(rows.products({position: np.array([has_value])}))
    return found

def products(schema, text):
    """Returns the different linear queries of a query in words, each as rows per attribute, divided
    by their largest absolute value."""
    found = []
    for rows in itertools.chain(*(linear(schema, term) for term in Parser(text).query())):
        same = lambda known: known.keys() == rows.keys() and all(
            np.array_equal(known[p], rows[p]) for p in rows)
        if not any(map(same, found)):
            found.append(rows)
    return [{p: of / (abs(of).max() or 1.0) for p, of in rows.items()} for rows in found]
