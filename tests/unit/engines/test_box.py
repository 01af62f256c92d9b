"""Boxes of one machine have users of their own, whichever run they are of."""

from contextlib import ExitStack

from longlook.engines.virtual.box import FIRST_USER, USERS, claimed_user


def test_no_two_boxes_have_one_user_until_all_are_taken() -> None:
    with ExitStack() as stack:
        claims = [stack.enter_context(claimed_user()) for _ in range(USERS + 1)]
    owned = [user for user, own in claims if own]  # other runs on this machine may hold some
    assert len(set(owned)) == len(owned)
    assert set(owned) <= set(range(FIRST_USER, FIRST_USER + USERS))
    user, own = claims[-1]
    assert not own and user in range(FIRST_USER, FIRST_USER + USERS)
