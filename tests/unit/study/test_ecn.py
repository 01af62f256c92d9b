"""ECN of the kernel's TCP as a setting."""

import pytest

from longlook.core.problems import SettingError
from longlook.study import tcp


def test_ecn_is_a_switch_or_accurate() -> None:
    assert [tcp.tcp_setting("tcp_ecn", value) for value in (True, False, "accecn")] == [True, False, "accecn"]
    assert tcp.parameters({"tcp_ecn": "accecn"}) == {"ecn": "accecn"}
    with pytest.raises(SettingError, match='must be true, false or "accecn"'):
        tcp.tcp_setting("tcp_ecn", "l4s")


def test_dctcp_has_ecn() -> None:
    with pytest.raises(SettingError, match="leave tcp_ecn out") as caught:
        tcp.check_dctcp({"tcp_ecn": False}, {"dctcp", "cubic"})
    assert caught.value.key == "tcp_ecn"
    tcp.check_dctcp({"tcp_ecn": False}, {"cubic"})
    tcp.check_dctcp({"tcp_ecn": True}, {"dctcp"})
    tcp.check_dctcp({}, {"dctcp"})
