"""A DNS server for tests: it answers from a JSON file, name → kind of record → values, which it reads at each query."""

import json
import selectors
import socket
import sys
from pathlib import Path

import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset


def answer(query: bytes, zone_file: Path) -> bytes:
    """Return the answer to a query."""
    asked = dns.message.from_wire(query)
    response = dns.message.make_response(asked)
    question = asked.question[0]
    zone = json.loads(zone_file.read_text())
    records = zone.get(question.name.to_text(omit_final_dot=True).lower())
    if records is None:
        response.set_rcode(dns.rcode.NXDOMAIN)
    elif values := records.get(dns.rdatatype.to_text(question.rdtype)):
        # A set each: within one, the library puts records into a random order.
        response.answer += [dns.rrset.from_text(question.name, 60, "IN", question.rdtype, each) for each in values]
    return response.to_wire()


def main(zone_file: str, *addresses: str) -> None:
    """Serve until a signal ends the process."""
    waiting = selectors.DefaultSelector()
    for address in addresses:
        server = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
        server.bind((address, 53))
        waiting.register(server, selectors.EVENT_READ)
    while True:
        for key, _ in waiting.select():
            sock = key.fileobj
            assert isinstance(sock, socket.socket)
            query, sender = sock.recvfrom(4096)
            sock.sendto(answer(query, Path(zone_file)), sender)


if __name__ == "__main__":
    main(*sys.argv[1:])
