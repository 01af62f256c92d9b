package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/quicvarint"
)

const (
	largestPacket = 1 << 16
	protocolName  = "connect-udp"
	pathPrefix    = "/.well-known/masque/udp/" // RFC 9298, 3: the default template
)

// udpContext is the context of UDP packets (RFC 9298, 4); what has another is dropped.
const udpContext = 0

// datagrams are those of one request (RFC 9297).
type datagrams interface {
	SendDatagram([]byte) error
	ReceiveDatagram(context.Context) ([]byte, error)
}

// A queue has packets that wait for the tunnel; what does not fit into it is dropped.
type queue chan []byte

func (q queue) add(packet []byte) {
	select {
	case q <- packet:
	default:
	}
}

// packetOf returns a datagram with a UDP packet.
func packetOf(payload []byte) []byte {
	return append(quicvarint.Append(make([]byte, 0, len(payload)+1), udpContext), payload...)
}

// payloadOf returns the UDP packet of a datagram, or false where it has none.
func payloadOf(datagram []byte) ([]byte, bool) {
	id, n, err := quicvarint.Parse(datagram)
	if err != nil || id != udpContext {
		return nil, false
	}
	return datagram[n:], true
}

// carry sends the packets of a queue through the tunnel. Those that do not fit into a packet of the tunnel are dropped,
// as on any path with a smaller MTU; the ends find out what fits.
func carry(ctx context.Context, from queue, over datagrams) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case packet := <-from:
			var tooLarge *quic.DatagramTooLargeError
			if err := over.SendDatagram(packet); err != nil && !errors.As(err, &tooLarge) {
				return err
			}
		}
	}
}

// deliver hands every UDP packet that comes through the tunnel to write.
func deliver(ctx context.Context, over datagrams, write func([]byte) error) error {
	for {
		datagram, err := over.ReceiveDatagram(ctx)
		if err != nil {
			return err
		}
		if payload, is := payloadOf(datagram); is {
			if err := write(payload); err != nil {
				fmt.Fprintln(os.Stderr, "packet:", err) // as if it were lost: the target is not there yet, or gone
			}
		}
	}
}

// pathOf returns the path that asks for a target.
func pathOf(target netip.AddrPort) string {
	return fmt.Sprintf("%s%s/%d/", pathPrefix, target.Addr(), target.Port())
}

// targetOf returns what a path asks for.
func targetOf(path string) (netip.AddrPort, error) {
	rest, is := strings.CutPrefix(path, pathPrefix)
	parts := strings.Split(strings.TrimSuffix(rest, "/"), "/")
	if !is || len(parts) != 2 {
		return netip.AddrPort{}, fmt.Errorf("path %q is not %sHOST/PORT/", path, pathPrefix)
	}
	return netip.ParseAddrPort(parts[0] + ":" + parts[1])
}
