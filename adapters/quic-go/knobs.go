package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"

	"github.com/quic-go/quic-go"
)

const (
	protocolH3 = "h3"
	protocolH2 = "h2"
)

// Largest packet that quic-go's buffers hold, and the smallest that QUIC allows.
const (
	minPacketSize = 1200
	maxPacketSize = 1452
)

// Windows that quic-go offers at first.
const (
	defaultStreamWindow     = 512 << 10
	defaultConnectionWindow = defaultStreamWindow * 3 / 2
)

// settings are the knobs of one run, applied.
type settings struct {
	quic                 *quic.Config
	maxConcurrentStreams int // h2 server; 0: net/http's own
}

// A knob changes one setting; `protocols` are those it means something for.
type knob struct {
	protocols []string
	set       func(s *settings, value string) error
}

var (
	quicOnly = []string{protocolH3, protocolHQ}
	both     = []string{protocolH3, protocolHQ, protocolH2}
)

var commonKnobs = map[string]knob{
	"initial_stream_window":     {quicOnly, countKnob(func(s *settings, n uint64) { s.quic.InitialStreamReceiveWindow = n })},
	"max_stream_window":         {quicOnly, countKnob(func(s *settings, n uint64) { s.quic.MaxStreamReceiveWindow = n })},
	"initial_connection_window": {quicOnly, countKnob(func(s *settings, n uint64) { s.quic.InitialConnectionReceiveWindow = n })},
	"max_connection_window":     {quicOnly, countKnob(func(s *settings, n uint64) { s.quic.MaxConnectionReceiveWindow = n })},
	"initial_packet_size":       {quicOnly, setPacketSize},
	"disable_pmtud":             {quicOnly, boolKnob(func(s *settings, on bool) { s.quic.DisablePathMTUDiscovery = on })},
	// quic-go reads these two from the environment only, when it opens a socket.
	"gso": {quicOnly, boolKnob(func(_ *settings, on bool) { setEnvironment("QUIC_GO_DISABLE_GSO", !on) })},
	"ecn": {quicOnly, boolKnob(func(_ *settings, on bool) { setEnvironment("QUIC_GO_DISABLE_ECN", !on) })},
}

var serverKnobs = map[string]knob{
	"allow_0rtt": {quicOnly, boolKnob(func(s *settings, on bool) { s.quic.Allow0RTT = on })},
	"max_incoming_streams": {both, countKnob(func(s *settings, n uint64) {
		s.quic.MaxIncomingStreams = int64(n)
		s.maxConcurrentStreams = int(n)
	})},
}

// newSettings applies knobs over the stack's own defaults. `own` are the knobs of the role beside the common ones.
func newSettings(protocol string, values map[string]string, own map[string]knob) (*settings, error) {
	result := &settings{quic: &quic.Config{Allow0RTT: true, Tracer: qlogTracer}}
	for name, value := range values {
		k, known := commonKnobs[name]
		if !known {
			k, known = own[name]
		}
		if !known {
			return nil, unsupportedError{fmt.Errorf("unknown knob %q", name)}
		}
		if !slices.Contains(k.protocols, protocol) {
			return nil, unsupportedError{fmt.Errorf("knob %q has no meaning with %s", name, protocol)}
		}
		if err := k.set(result, value); err != nil {
			return nil, usageError{fmt.Errorf("knob %s=%s: %w", name, value, err)}
		}
	}
	q := result.quic
	if err := bound("stream", &q.InitialStreamReceiveWindow, q.MaxStreamReceiveWindow, defaultStreamWindow); err != nil {
		return nil, err
	}
	if err := bound("connection", &q.InitialConnectionReceiveWindow, q.MaxConnectionReceiveWindow, defaultConnectionWindow); err != nil {
		return nil, err
	}
	return result, nil
}

// bound keeps an initial window within the largest one, which quic-go does not: it would offer its default all the same.
func bound(what string, initial *uint64, largest, byDefault uint64) error {
	if largest == 0 {
		return nil
	}
	if *initial > largest {
		return usageError{fmt.Errorf("initial_%s_window %d is larger than max_%s_window %d", what, *initial, what, largest)}
	}
	if *initial == 0 && byDefault > largest {
		*initial = largest
	}
	return nil
}

func countKnob(set func(*settings, uint64)) func(*settings, string) error {
	return func(s *settings, value string) error {
		n, err := strconv.ParseUint(value, 10, 62)
		if err != nil || n == 0 {
			return errors.New("not a positive whole number")
		}
		set(s, n)
		return nil
	}
}

func boolKnob(set func(*settings, bool)) func(*settings, string) error {
	return func(s *settings, value string) error {
		if value != "true" && value != "false" {
			return errors.New("neither true nor false")
		}
		set(s, value == "true")
		return nil
	}
}

func setPacketSize(s *settings, value string) error {
	n, err := strconv.ParseUint(value, 10, 16)
	if err != nil || n < minPacketSize || n > maxPacketSize {
		return fmt.Errorf("not between %d and %d", minPacketSize, maxPacketSize)
	}
	s.quic.InitialPacketSize = uint16(n)
	return nil
}

func setEnvironment(name string, on bool) {
	if err := os.Setenv(name, strconv.FormatBool(on)); err != nil {
		panic(err) // the names are constants
	}
}
