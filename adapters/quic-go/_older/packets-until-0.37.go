package main

// Packets have no settings yet.
var packetKnobs = map[string]knob{}
