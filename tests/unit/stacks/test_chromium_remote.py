"""Which browsers there are elsewhere, as LONGLOOK_PHONES names them."""

import subprocess
import sys

import pytest

from longlook.core.errors import InputError
from longlook.stacks.chromium_remote import command_line, phones


def test_phones_have_names_and_without_any_there_is_one_where_adb_forwards() -> None:
    assert phones("") == {"phone": "127.0.0.1:9222"}
    assert phones("motog=127.0.0.1:9222, lan=10.0.0.7:9333,") == {"motog": "127.0.0.1:9222", "lan": "10.0.0.7:9333"}


@pytest.mark.parametrize("text", ["127.0.0.1:9222", "motog=9222", "motog=host:port", "=127.0.0.1:9222", "a b=c:1"])
def test_what_is_no_phone_is_refused_with_the_form(text: str) -> None:
    with pytest.raises(InputError, match=r"is no name=HOST:PORT") as caught:
        phones(text)
    assert caught.value.hint is not None
    assert 'LONGLOOK_PHONES="motog=127.0.0.1:9222' in caught.value.hint


def test_a_name_that_is_there_twice_is_refused() -> None:
    with pytest.raises(InputError, match="'a=h:2' is named twice"):
        phones("a=h:1,a=h:2")


def test_studies_name_phones_as_versions_and_a_wrong_variable_ends_in_one_sentence() -> None:
    code = "from longlook.core import registry; print(*registry.stack('chromium-remote').version_names)"
    env = {"PATH": "/usr/bin:/bin"}
    call = (sys.executable, "-c", code)
    done = subprocess.run(
        call, env={**env, "LONGLOOK_PHONES": "a=h:1,b=h:2"}, capture_output=True, text=True, check=True
    )
    assert done.stdout == "a b\n"
    wrong = subprocess.run(call, env={**env, "LONGLOOK_PHONES": "h:1"}, capture_output=True, text=True, check=False)
    assert "InputError: LONGLOOK_PHONES: 'h:1' is no name=HOST:PORT" in wrong.stderr


def test_flags_with_spaces_are_quoted_in_one_line() -> None:
    assert command_line(["--a", "--b=MAP * c"]) == '--a "--b=MAP * c"'
