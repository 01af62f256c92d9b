package main

import (
	"errors"
	"fmt"
	"strconv"
)

const patchedSuffix = "+knobs"

// The patch reads these from the environment when a connection is made.
var patchedKnobs = map[string]knob{
	"adaptive_reordering":  {quicOnly, boolInEnvironment("QUIC_GO_ADAPTIVE_REORDERING")},
	"congestion_control":   {quicOnly, setCongestionControl},
	"emulated_connections": {quicOnly, countInEnvironment("QUIC_GO_EMULATED_CONNECTIONS", 64)},
	"hystart":              {quicOnly, boolInEnvironment("QUIC_GO_HYSTART")},
	"initial_window":       {quicOnly, countInEnvironment("QUIC_GO_INITIAL_WINDOW", 10_000)},
	"packet_threshold":     {quicOnly, countInEnvironment("QUIC_GO_PACKET_THRESHOLD", 1_000)},
}

func setCongestionControl(_ *settings, value string) error {
	if value != "reno" && value != "cubic" {
		return errors.New("neither reno nor cubic")
	}
	setEnvironment("QUIC_GO_CONGESTION_CONTROL", value)
	return nil
}

func boolInEnvironment(variable string) func(*settings, string) error {
	return func(_ *settings, value string) error {
		if value != "true" && value != "false" {
			return errors.New("neither true nor false")
		}
		setEnvironment(variable, value)
		return nil
	}
}

func countInEnvironment(variable string, most int) func(*settings, string) error {
	return func(_ *settings, value string) error {
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 || n > most {
			return fmt.Errorf("not between 1 and %d", most)
		}
		setEnvironment(variable, strconv.Itoa(n))
		return nil
	}
}
