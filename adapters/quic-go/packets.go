package main

import (
	"fmt"
	"strconv"
)

// Largest packet that quic-go's buffers hold, and the smallest that QUIC allows.
const (
	minPacketSize = 1200
	maxPacketSize = 1452
)

var packetKnobs = map[string]knob{
	"initial_packet_size": {quicOnly, setPacketSize},
	// quic-go reads these two from the environment only, when it opens a socket.
	"gso": {quicOnly, boolKnob(func(_ *settings, on bool) { setEnvironment("QUIC_GO_DISABLE_GSO", strconv.FormatBool(!on)) })},
	"ecn": {quicOnly, boolKnob(func(_ *settings, on bool) { setEnvironment("QUIC_GO_DISABLE_ECN", strconv.FormatBool(!on)) })},
}

func setPacketSize(s *settings, value string) error {
	n, err := strconv.ParseUint(value, 10, 16)
	if err != nil || n < minPacketSize || n > maxPacketSize {
		return fmt.Errorf("not between %d and %d", minPacketSize, maxPacketSize)
	}
	s.quic.InitialPacketSize = uint16(n)
	return nil
}
