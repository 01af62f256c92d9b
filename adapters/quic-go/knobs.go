package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/quic-go/quic-go"
)

const (
	protocolH3 = "h3"
	protocolH2 = "h2"
)

// settings are the knobs of one run, applied.
type settings struct {
	quic                 *quic.Config
	maxConcurrentStreams int // h2 server; 0: net/http's own
}

// A knob changes one setting; `protocols` are those for which it means something.
type knob struct {
	protocols []string
	set       func(s *settings, value string) error
}

var (
	quicOnly = []string{protocolH3, protocolHQ}
	both     = []string{protocolH3, protocolHQ, protocolH2}
)

var commonKnobs = mergedKnobs(windowKnobs, packetKnobs, patchedKnobs)

var serverKnobs = mergedKnobs(earlyDataKnobs, map[string]knob{
	"max_incoming_streams": {both, countKnob(func(s *settings, n uint64) {
		limitStreams(s.quic, n)
		s.maxConcurrentStreams = int(n)
	})},
})

func mergedKnobs(groups ...map[string]knob) map[string]knob {
	merged := map[string]knob{}
	for _, group := range groups {
		for name, k := range group {
			merged[name] = k
		}
	}
	return merged
}

// newSettings applies knobs over the stack's own defaults. `own` are the knobs of the role beside the common ones.
func newSettings(protocol string, values map[string]string, own map[string]knob) (*settings, error) {
	result := &settings{quic: &quic.Config{}}
	acceptEarlyData(result.quic, true)
	trace(result.quic, own != nil)
	for name, value := range values {
		k, known := commonKnobs[name]
		if !known {
			k, known = own[name]
		}
		if !known {
			return nil, unsupportedError{fmt.Errorf("unknown knob %q", name)}
		}
		if !k.appliesTo(protocol) {
			return nil, unsupportedError{fmt.Errorf("knob %q has no meaning with %s", name, protocol)}
		}
		if err := k.set(result, value); err != nil {
			return nil, usageError{fmt.Errorf("knob %s=%s: %w", name, value, err)}
		}
	}
	if err := boundWindows(result.quic); err != nil {
		return nil, err
	}
	return result, nil
}

func (k knob) appliesTo(protocol string) bool {
	for _, each := range k.protocols {
		if each == protocol {
			return true
		}
	}
	return false
}

func countKnob(set func(*settings, uint64)) func(*settings, string) error {
	return func(s *settings, value string) error {
		n, err := strconv.ParseUint(value, 10, 62)
		if err != nil || n == 0 {
			return errors.New("not a positive whole number")
		}
		set(s, n)
		return nil
	}
}

func boolKnob(set func(*settings, bool)) func(*settings, string) error {
	return func(s *settings, value string) error {
		if value != "true" && value != "false" {
			return errors.New("neither true nor false")
		}
		set(s, value == "true")
		return nil
	}
}

func setEnvironment(name, value string) {
	if err := os.Setenv(name, value); err != nil {
		panic(err) // the names are constants
	}
}
