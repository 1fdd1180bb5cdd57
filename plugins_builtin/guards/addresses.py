"""IP addresses: who shares a bucket, and who may call at all."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from functools import lru_cache, partial
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr
from pydantic_core import PydanticKnownError

from frontmcp import PublicMcpError
from plugins_builtin.guards.errors import IpBlockedError, IpNotAllowedError

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

NETWORK = 'an IP address or a network like "10.0.0.0/8"'

MAPPED_BITS = 96
"""The length of ``::ffff:0:0/96``, under which IPv6 has the addresses of IPv4."""


def address(text: str | None) -> Address | None:
    """The address, of IPv4 where IPv6 only carries one; None for what is none."""
    try:
        parsed = ipaddress.ip_address(text or "")
    except ValueError:
        return None
    return getattr(parsed, "ipv4_mapped", None) or parsed


@lru_cache(4096)
def bucket(text: str | None) -> str | None:
    """What stands for a client's address: itself, and of IPv6 the network that one client can choose from."""
    parsed = address(text)
    if parsed is None or parsed.version == 4:
        return None if parsed is None else str(parsed)
    return str(ipaddress.ip_network((parsed.packed, 64), strict=False))


def _network(value: Any) -> Network:
    try:
        network = ipaddress.ip_network(value, strict=False)
    except ValueError:
        raise PydanticKnownError("literal_error", {"expected": NETWORK}) from None
    mapped = getattr(network.network_address, "ipv4_mapped", None)
    if mapped is None or network.prefixlen < MAPPED_BITS:
        return network
    return ipaddress.ip_network((mapped, network.prefixlen - MAPPED_BITS))


Networks: TypeAlias = list[Annotated[Any, BeforeValidator(_network)]]


class IpFilter(BaseModel):
    """Which addresses may call. The deny list comes first, then the allow list, then the default.

    :param allow: addresses and networks that may call.
    :param deny: those that may not.
    :param default: what is on neither list; refused when there is an allow list.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    allow: Networks = Field([], validation_alias=AliasChoices("allow", "allow_list"))
    deny: Networks = Field([], validation_alias=AliasChoices("deny", "deny_list"))
    default: Literal["allow", "deny"] | None = Field(None, validation_alias=AliasChoices("default", "default_action"))
    _judge: Any = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        self._judge = lru_cache(4096)(partial(_judge, self))

    def check(self, text: str | None) -> None:
        """Let an address pass, or refuse it.

        :param text: as the transport has it; None when that is not known.
        :raises IpBlockedError: it is denied.
        :raises IpNotAllowedError: it is on no list.
        """
        refused: type[PublicMcpError] | None = self._judge(text)
        if refused is not None:
            raise refused(str(address(text) or "unknown"))

    @property
    def refuses_others(self) -> bool:
        """Whether an address on neither list is refused."""
        return bool(self.allow) if self.default is None else self.default == "deny"


def _judge(rules: IpFilter, text: str | None) -> type[Exception] | None:
    parsed = address(text)
    if parsed is not None and _contains(rules.deny, parsed):
        return IpBlockedError
    if parsed is not None and _contains(rules.allow, parsed):
        return None
    return IpNotAllowedError if rules.refuses_others else None


def _contains(networks: Iterable[Network], parsed: Address) -> bool:
    # Addresses are compared without their scope: fe80::1%eth0 is in fe80::/10.
    return any(parsed in network for network in networks)
