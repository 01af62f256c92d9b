package main

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

const (
	longestTimeoutS   = 365 * 24 * 3600
	longestKeepAliveS = 20 // quic-go sends one at least as often
)

var timeoutKnobs = map[string]knob{
	"idle_timeout":      {quicOnly, timeoutKnob(longestTimeoutS, func(s *settings, d time.Duration) { s.quic.MaxIdleTimeout = d })},
	"keep_alive":        {quicOnly, timeoutKnob(longestKeepAliveS, func(s *settings, d time.Duration) { s.quic.KeepAlivePeriod = d })},
	"handshake_timeout": {quicOnly, timeoutKnob(longestTimeoutS, func(s *settings, d time.Duration) { s.quic.HandshakeIdleTimeout = d })},
}

// timeoutKnob takes seconds, from a tenth on: quic-go takes no time for its default.
func timeoutKnob(longestS float64, set func(*settings, time.Duration)) func(*settings, string) error {
	return func(s *settings, value string) error {
		seconds, err := strconv.ParseFloat(value, 64)
		if err != nil || !(seconds >= 0.1 && seconds <= longestS) {
			return fmt.Errorf("not a number of seconds from 0.1 to %g", longestS)
		}
		set(s, time.Duration(math.Round(seconds*float64(time.Second))))
		return nil
	}
}
