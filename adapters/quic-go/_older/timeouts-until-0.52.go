package main

var timeoutKnobs map[string]knob
