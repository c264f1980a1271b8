"""Options of commands, and what agents may give for them, as Hypothesis draws them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.fakes.made_commands import made

NASTY = st.text(alphabet="-=,:ab 1\n\0$`;'\"\\~/.é\U0001f600\ud800", max_size=6)
TEXTS = st.one_of(
    st.text(max_size=8),
    NASTY,
    st.sampled_from(["-", "--", "--force", "-rf", "--b=1"]),
    st.sampled_from(["", "a;b", "$(id)", "..", "a,b", "a\0", "\ud800"]),
)
NUMBERS = st.one_of(
    st.integers(-20, 20),
    st.integers(),
    st.floats(),
    st.sampled_from([1.0, 1e-7, 1e300, -0.0, 10**400, True]),
)
JUNK = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
_NAMES = ("a", "b", "ab", "message", "dry_run", "x1", "force", "path")
_FLAGS = ("-a", "-b", "-m", "-x", "--b", "--force", "--no-verify")
_PATTERNS = ("[a-z]+", "^[a-z-]*$", "a|b", r"[^-].*", r"\w\d?", r"(?P<it>a)b?")
_KINDS = ("string", "string", "boolean", "integer", "number", "array", "object")
_BOUND = st.integers(0, 4)


@st.composite
def _value_rules(draw: st.DrawFn, kind: str) -> dict[str, Any]:
    rules: dict[str, Any] = {}
    if kind == "string":
        rules_there = st.sampled_from(["enum", "pattern", "minLength", "maxLength"])
        keys = draw(st.sets(rules_there, max_size=2) if draw(st.booleans()) else st.just(set()))
        if "enum" in keys:
            rules["enum"] = draw(
                st.lists(st.sampled_from(["a", "ab", "-a", "x y", ""]), min_size=1)
            )
        if "pattern" in keys:
            rules["pattern"] = draw(st.sampled_from(_PATTERNS))
        low, high = draw(_BOUND), draw(_BOUND)
        if "minLength" in keys:
            rules["minLength"] = min(low, high)
        if "maxLength" in keys:
            rules["maxLength"] = max(low, high)
    elif draw(st.booleans()):
        low, high = draw(st.integers(-5, 5)), draw(st.integers(-5, 5))
        rules |= {"minimum": min(low, high), "maximum": max(low, high) + 0.5}
    return rules


@st.composite
def _option(draw: st.DrawFn, name: str, flag: str | None) -> dict[str, Any]:
    kind = draw(st.sampled_from(_KINDS))
    option: dict[str, Any] = {"name": name, "type": kind}
    if draw(st.sampled_from([False, False, False, True])):
        option["required"] = True
    positional = kind != "boolean" and draw(st.booleans())
    if positional:
        option["positional"] = True
    elif flag is not None:
        option["flag"] = flag
    if not positional and kind != "boolean" and draw(st.booleans()):
        option["style"] = "separate"
    if kind in ("string", "integer", "number"):
        option |= draw(_value_rules(kind))
    elif kind == "array":
        inner = draw(st.sampled_from(["string", "integer", "number"]))
        option["items"] = {"type": inner, **draw(_value_rules(inner))}
        low, high = draw(_BOUND), draw(_BOUND)
        if draw(st.booleans()):
            option |= {"minItems": min(low, high), "maxItems": max(low, high)}
        if draw(st.booleans()):
            option["join"] = draw(st.sampled_from([",", ":", "-"]))
    elif kind == "object":
        option["encode"] = draw(st.sampled_from(["pairs", "json"]))
    return option


@st.composite
def commands(draw: st.DrawFn) -> Any:
    """A command whose options a parser like getopt can tell apart."""
    names = draw(st.lists(st.sampled_from(_NAMES), min_size=1, max_size=4, unique=True))
    own = {f"--{name.replace('_', '-')}" for name in names}
    free = [flag for flag in _FLAGS if flag not in own]
    flags = draw(st.permutations([*free, *([None] * len(names))]))
    options = [draw(_option(name, flag)) for name, flag in zip(names, flags, strict=False)]
    many = [o for o in options if o.get("positional") and o["type"] in ("array", "object")]
    for extra in many[1:]:
        del extra["positional"]
    options.sort(key=lambda option: option in many)  # one that takes several comes last
    return made(*options, separator=draw(st.sampled_from(["--", None])))


@st.composite
def given_for(draw: st.DrawFn, command: Any) -> dict[str, Any]:
    """Mostly what the options ask for, now and then anything."""
    given: dict[str, Any] = {}
    spoilt = draw(st.sampled_from([None, None, None, "missing", "junk", "unknown"]))
    for option in command.options:
        if draw(st.sampled_from([True, True, False])) or (option.required and spoilt != "missing"):
            given[option.name] = draw(JUNK if spoilt == "junk" else _fitting(option))
    return {**given, draw(TEXTS): draw(JUNK)} if spoilt == "unknown" else given


def _fitting(option: Any) -> st.SearchStrategy[Any]:
    if option.type == "boolean":
        return st.booleans()
    if option.type == "array":
        most = option.max_items if option.max_items is not None else 4
        return st.lists(_scalar(option.items), min_size=option.min_items or 0, max_size=most)
    if option.type == "object":
        keys = st.text("ab-", min_size=1, max_size=3) | TEXTS
        return st.dictionaries(keys, st.one_of(TEXTS, NUMBERS, st.booleans()), max_size=3)
    return _scalar(option)


def _scalar(rule: Any) -> st.SearchStrategy[Any]:
    if rule.enum:
        return st.sampled_from(rule.enum)
    if rule.type == "string":
        if rule.pattern is None:
            return TEXTS
        return st.from_regex(rule.pattern, fullmatch=True) | st.from_regex(rule.pattern)
    if rule.minimum is None:
        return NUMBERS if rule.type == "number" else st.integers()
    within = st.integers(int(rule.minimum), int(rule.maximum))
    return within if rule.type == "integer" else within | st.floats(rule.minimum, rule.maximum)
