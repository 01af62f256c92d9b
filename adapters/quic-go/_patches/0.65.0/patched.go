package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
)

const patchedSuffix = "+knobs"

// The patch reads these from the environment, once, when the first connection is made.
var patchedKnobs = map[string]knob{
	"ack_threshold":        {quicOnly, countInEnvironment("QUIC_GO_ACK_THRESHOLD", 1, 1_000)},
	"adaptive_reordering":  {quicOnly, boolInEnvironment("QUIC_GO_ADAPTIVE_REORDERING")},
	"congestion_control":   {quicOnly, setCongestionControl},
	"emulated_connections": {quicOnly, countInEnvironment("QUIC_GO_EMULATED_CONNECTIONS", 1, 64)},
	"hystart":              {quicOnly, boolInEnvironment("QUIC_GO_HYSTART")},
	"initial_rtt":          {quicOnly, numberInEnvironment("QUIC_GO_INITIAL_RTT", 0.001, 86_400)},
	"initial_ssthresh":     {quicOnly, countInEnvironment("QUIC_GO_INITIAL_SSTHRESH", 2, 10_000)},
	"initial_window":       {quicOnly, countInEnvironment("QUIC_GO_INITIAL_WINDOW", 1, 10_000)},
	"max_ack_delay":        {quicOnly, numberInEnvironment("QUIC_GO_MAX_ACK_DELAY", 0.002, 16)},
	"max_window":           {quicOnly, countInEnvironment("QUIC_GO_MAX_WINDOW", 2, 10_000)},
	"min_window":           {quicOnly, countInEnvironment("QUIC_GO_MIN_WINDOW", 1, 1_000)},
	"pacing":               {quicOnly, boolInEnvironment("QUIC_GO_PACING")},
	"pacing_burst":         {quicOnly, countInEnvironment("QUIC_GO_PACING_BURST", 1, 1_000)},
	"packet_threshold":     {quicOnly, countInEnvironment("QUIC_GO_PACKET_THRESHOLD", 1, 1_000)},
	"pto_factor":           {quicOnly, numberInEnvironment("QUIC_GO_PTO_FACTOR", 0.25, 16)},
	"receive_queue":        {quicOnly, countInEnvironment("QUIC_GO_RECEIVE_QUEUE", 1, 1_000_000)},
	"time_threshold":       {quicOnly, setTimeThreshold},
	"undo_spurious_losses": {quicOnly, boolInEnvironment("QUIC_GO_UNDO_SPURIOUS_LOSSES")},
	"window_after_loss":    {quicOnly, numberInEnvironment("QUIC_GO_WINDOW_AFTER_LOSS", 0.1, 0.99)},
}

func setCongestionControl(_ *settings, value string) error {
	if value != "reno" && value != "cubic" {
		return errors.New("neither reno nor cubic")
	}
	setEnvironment("QUIC_GO_CONGESTION_CONTROL", value)
	return nil
}

// setTimeThreshold takes what quic-go can hold: a round trip and so many eighths of it.
func setTimeThreshold(s *settings, value string) error {
	if ratio, err := strconv.ParseFloat(value, 64); err == nil && ratio*8 != math.Trunc(ratio*8) {
		return errors.New("not a multiple of 1/8")
	}
	return numberInEnvironment("QUIC_GO_TIME_THRESHOLD", 1, 16)(s, value)
}

func boolInEnvironment(variable string) func(*settings, string) error {
	return boolKnob(func(_ *settings, on bool) { setEnvironment(variable, strconv.FormatBool(on)) })
}

func countInEnvironment(variable string, least, most int) func(*settings, string) error {
	return func(_ *settings, value string) error {
		n, err := strconv.Atoi(value)
		if err != nil || n < least || n > most {
			return fmt.Errorf("not between %d and %d", least, most)
		}
		setEnvironment(variable, strconv.Itoa(n))
		return nil
	}
}

func numberInEnvironment(variable string, least, most float64) func(*settings, string) error {
	return func(_ *settings, value string) error {
		number, err := strconv.ParseFloat(value, 64)
		if err != nil || !(number >= least && number <= most) {
			return fmt.Errorf("not between %g and %g", least, most)
		}
		setEnvironment(variable, strconv.FormatFloat(number, 'f', -1, 64))
		return nil
	}
}
