package main

// impossibleStates are those that a QUIC connection of this version cannot be in, with the reason.
var impossibleStates = map[string]string{
	connection0RTT: "the client crashes when its early data is answered with a Retry, as these servers do",
}
