package main

import "strconv"

// quic-go reads these from the environment only, when it opens a socket.
var packetKnobs = map[string]knob{
	"gso": {quicOnly, boolKnob(func(_ *settings, on bool) { setEnvironment("QUIC_GO_DISABLE_GSO", strconv.FormatBool(!on)) })},
	"ecn": {quicOnly, boolKnob(func(_ *settings, on bool) { setEnvironment("QUIC_GO_DISABLE_ECN", strconv.FormatBool(!on)) })},
}
