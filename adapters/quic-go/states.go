package main

// impossibleStates are those that a QUIC connection of this version cannot be in, with the reason.
var impossibleStates = map[string]string{}
