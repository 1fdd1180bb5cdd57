"""IP addresses: lists, networks, IPv4 inside IPv6, and what stands for a client."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from frontmcp import PublicMcpError
from plugins_builtin.guards.addresses import IpFilter, bucket


def judge(address: str | None, **rules: Any) -> str | None:
    try:
        IpFilter(**rules).check(address)
    except PublicMcpError as error:
        return f"{error.code} {error}"
    return None


BLOCKED = 'IP_BLOCKED IP address "10.1.2.3" is blocked'
NOT_ALLOWED = 'IP_NOT_ALLOWED IP address "10.1.2.3" is not allowed'


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ({}, None),
        ({"deny": ["10.1.2.3"]}, BLOCKED),
        ({"deny": ["10.0.0.0/8"]}, BLOCKED),
        ({"deny": ["10.9.9.9/8"]}, BLOCKED),
        ({"deny": ["::ffff:10.1.2.3"]}, BLOCKED),
        ({"deny": ["::ffff:10.0.0.0/104"]}, BLOCKED),
        ({"deny": ["192.168.0.0/16"]}, None),
        ({"deny": ["::/0"]}, None),
        ({"allow": ["10.0.0.0/8"]}, None),
        ({"allow": ["10.0.0.0/8"], "deny": ["10.1.2.3"]}, BLOCKED),
        ({"allow": ["192.168.0.0/16"]}, NOT_ALLOWED),
        ({"allow": ["192.168.0.0/16"], "default": "allow"}, None),
        ({"default": "deny"}, NOT_ALLOWED),
        ({"allow_list": ["192.168.0.0/16"], "default_action": "deny"}, NOT_ALLOWED),
    ],
)
@pytest.mark.parametrize("address", ["10.1.2.3", "::ffff:10.1.2.3", "::ffff:a01:203"])
def test_the_deny_list_comes_first_then_the_allow_list_then_the_default(
    address: str, rules: dict[str, Any], said: str | None
) -> None:
    assert judge(address, **rules) == said


@pytest.mark.parametrize("address", [None, "", "testclient", "10.1.2", "010.1.2.3", "10.1.2.3:80", "a" * 1000])
def test_what_is_no_address_is_on_no_list_and_not_echoed(address: str | None) -> None:
    assert judge(address, deny=["0.0.0.0/0", "::/0"]) is None
    assert judge(address, allow=["0.0.0.0/0", "::/0"]) == 'IP_NOT_ALLOWED IP address "unknown" is not allowed'


def test_ipv6_has_networks_and_scopes() -> None:
    assert judge("fe80::1%eth0", allow=["fe80::/10"]) is None
    assert judge("2001:db8::1", deny=["2001:db8::/32"]) == 'IP_BLOCKED IP address "2001:db8::1" is blocked'


@pytest.mark.parametrize("network", ["10.0.0.0/33", "office", "010.0.0.1", 3.5, None, ""])
def test_a_rule_that_is_no_network_is_refused(network: Any) -> None:
    with pytest.raises(ValidationError, match="should be an IP address or a network"):
        IpFilter(deny=[network])


@pytest.mark.parametrize(
    ("address", "stands"),
    [
        (None, None),
        ("nowhere", None),
        ("10.1.2.3", "10.1.2.3"),
        ("::ffff:10.1.2.3", "10.1.2.3"),
        ("2001:db8::1", "2001:db8::/64"),
        ("2001:db8::ffff:1%eth0", "2001:db8::/64"),
    ],
)
def test_of_ipv6_the_network_of_a_client_stands_for_it(address: str | None, stands: str | None) -> None:
    assert bucket(address) == stands
