package main

import (
	"context"
	"errors"
	"net/netip"
	"testing"

	"github.com/quic-go/quic-go"
)

func TestPathsNameTargets(t *testing.T) {
	target := netip.MustParseAddrPort("10.8.0.2:443")
	if path := pathOf(target); path != "/.well-known/masque/udp/10.8.0.2/443/" {
		t.Fatal(path)
	}
	if found, err := targetOf(pathOf(target)); err != nil || found != target {
		t.Fatal(found, err)
	}
	for _, path := range []string{"/", "/.well-known/masque/udp/10.8.0.2/", "/.well-known/masque/udp/host/443/"} {
		if found, err := targetOf(path); err == nil {
			t.Fatal(path, found)
		}
	}
}

func TestPacketsHaveTheContextOfUDP(t *testing.T) {
	if payload, is := payloadOf(packetOf([]byte("packet"))); !is || string(payload) != "packet" {
		t.Fatal(payload, is)
	}
	for _, datagram := range [][]byte{{}, {2, 'x'}} {
		if _, is := payloadOf(datagram); is {
			t.Fatal(datagram)
		}
	}
}

func TestAFullQueueDrops(t *testing.T) {
	waiting := make(queue, 1)
	waiting.add([]byte("first"))
	waiting.add([]byte("second"))
	if packet := <-waiting; string(packet) != "first" || len(waiting) != 0 {
		t.Fatal(string(packet), len(waiting))
	}
}

type narrow struct{ sent [][]byte }

var errGone = errors.New("gone")

func (n *narrow) SendDatagram(packet []byte) error {
	switch {
	case len(packet) > 3:
		return &quic.DatagramTooLargeError{MaxDatagramPayloadSize: 3}
	case len(packet) == 0:
		return errGone
	}
	n.sent = append(n.sent, packet)
	return nil
}

func (n *narrow) ReceiveDatagram(context.Context) ([]byte, error) { return nil, errGone }

func TestWhatIsTooLargeIsDroppedAndTheTunnelGoesOn(t *testing.T) {
	waiting, over := make(queue, 3), &narrow{}
	for _, packet := range []string{"much too large", "ok", ""} {
		waiting.add([]byte(packet))
	}
	if err := carry(context.Background(), waiting, over); !errors.Is(err, errGone) || len(over.sent) != 1 {
		t.Fatal(err, over.sent)
	}
}

func TestKnobsAreChecked(t *testing.T) {
	base := []string{"--protocol", "h3", "--address", "10.8.0.1", "--port", "443", "--upstream", "10.8.255.1:443",
		"--target", "10.8.0.2:443", "--host", "www.example.test"}
	o, err := parse("relay", append(base, "--knob", "tunnel=warm", "--knob", "queue=9"))
	if err != nil || !o.warm || o.queue != 9 || o.target.Port() != 443 {
		t.Fatal(o, err)
	}
	var wrong badUsage
	if _, err := parse("relay", append(base, "--knob", "queue=0")); !errors.As(err, &wrong) {
		t.Fatal(err)
	}
	var missing unsupported
	if _, err := parse("relay", append(base, "--knob", "gso=true")); !errors.As(err, &missing) {
		t.Fatal(err)
	}
}
