# SPDX-License-Identifier: Apache-2.0
"""The network of the cards: /etc/hccn.conf, links and UDP ports."""

from __future__ import annotations

import ipaddress
import re
from typing import Iterator

from .hccn_conf import HccnConf
from .host import Output
from .machine import Machine
from .table import Found, found

_SECONDS = 5
_STATE = re.compile(r"link status\s*[:=]\s*(\w+)", re.IGNORECASE | re.ASCII)
_PORT = re.compile(r"port\w*\s*[:=]\s*(\d{1,5})\b", re.IGNORECASE | re.ASCII)


def check_hccn_conf(machine: Machine) -> Iterator[Found]:
    """The addresses, netmasks and gateways of the cards."""
    if len(machine.cards) < 2:
        return
    conf = machine.hccn
    if conf is None:
        if "/etc/hccn.conf" not in machine.host.unreadable:
            yield found("hccn-missing")
        return
    for line, text in conf.unread[:3]:
        yield found("hccn-line", line=line, text=text)
    yield from _invalid(conf)
    addresses: dict[str, list[int]] = {}
    for card, setting in sorted(conf.of("address").items()):
        addresses.setdefault(setting.value, []).append(card)
    for address, cards in addresses.items():
        if len(cards) > 1:
            shown = ", ".join(str(card) for card in cards)
            yield found("hccn-address-twice", cards=shown, address=address, card=cards[-1])
    # A container has some of the host's cards, and the host's file.
    if not machine.in_container:
        for card in machine.cards:
            if card not in conf.of("address"):
                yield found("hccn-address-missing", card=card)
    masks = sorted({setting.value for setting in conf.of("netmask").values()})
    if len(masks) > 1:
        yield found("hccn-netmask", masks=", ".join(masks))
    yield from _gateways(conf)


def _invalid(conf: HccnConf) -> Iterator[Found]:
    for name in ("address", "netmask", "gateway"):
        for card, setting in conf.of(name).items():
            try:
                ipaddress.ip_address(setting.value)
            except ValueError:
                values = {"line": setting.line, "value": setting.value[:80]}
                yield found("hccn-address-invalid", name=f"{name}_{card}", **values)


def _gateways(conf: HccnConf) -> Iterator[Found]:
    for card, gateway in conf.of("gateway").items():
        address, mask = conf.of("address").get(card), conf.of("netmask").get(card)
        if address is None or mask is None:
            continue
        try:
            network = ipaddress.ip_network(f"{address.value}/{mask.value}", strict=False)
            outside = ipaddress.ip_address(gateway.value) not in network
        except ValueError:
            continue
        if outside:
            yield found("hccn-gateway", gateway=gateway.value, card=card, network=str(network))


def check_links(machine: Machine) -> Iterator[Found]:
    """The network links of the cards, and the UDP ports that they send from."""
    if len(machine.cards) < 2:
        return
    ports = []
    for card in machine.cards:
        link = _ask(machine, card, "-link")
        if link.state == "missing":
            return
        if link.state == "hung":
            yield found("hccn-hangs", seconds=_SECONDS, card=card)
            return
        state = _STATE.search(link.text)
        if state and state[1].upper() != "UP":
            yield found("link-down", card=card, state=state[1])
        port = _PORT.search(_ask(machine, card, "-udp").text)
        ports.append(port[1] if port else "")
    if len(set(ports)) == 1 and ports[0]:
        yield found("udp-same", cards=len(ports), port=ports[0])


def _ask(machine: Machine, card: int, about: str) -> Output:
    for program in ("hccn_tool", "/usr/local/Ascend/driver/tools/hccn_tool"):
        output = machine.host.run(program, "-i", str(card), about, "-g", timeout=_SECONDS)
        if output.state != "missing":
            return output
    return Output("missing", "")
