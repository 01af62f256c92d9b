package main

// quic-go reads these from the environment only, when it opens a socket.
var packetKnobs = map[string]knob{
	"gso": {quicOnly, boolKnob(func(_ *settings, on bool) { setEnvironment("QUIC_GO_DISABLE_GSO", !on) })},
	"ecn": {quicOnly, boolKnob(func(_ *settings, on bool) { setEnvironment("QUIC_GO_DISABLE_ECN", !on) })},
}
