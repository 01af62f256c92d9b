"""The link's own part in a transfer that did not end: what it dropped, in words.

Pure: nothing here touches the machine or imports `lab.linux`.
"""

from longlook.lab.observations import Observations

_RULES = ("block", "police", "cutoff", "size_filter", "mtu", "nat")
_SENDERS = {"up": "client", "down": "server"}


def link_drops(link: Observations) -> str:
    """Return the drops of the link that explain why nothing arrived, to be put behind a reason; "" without any.

    These are drops by rules, and a direction in which nothing was delivered: the endpoints cannot know of either.
    There are no numbers in it, so that all rounds have the same reason and a report can count it.
    """
    found = []
    for summary in link.events("summary"):
        for direction, sender in _SENDERS.items():
            counters = summary.get(direction, {})
            dropped = [name for name, packets in counters.items() if name.startswith("dropped_") and packets]
            reasons = [name.removeprefix("dropped_") for name in dropped]
            if counters.get("delivered") == 0 and reasons:
                found.append(f"every packet of the {sender} ({', '.join(sorted(reasons))})")
            elif rules := [name for name in reasons if name in _RULES]:
                found.append(f"packets of the {sender} by rule ({', '.join(sorted(rules))})")
    return f"; the link dropped {' and '.join(found)}" if found else ""
