package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/quic-go/quic-go"
)

const (
	protocolH3 = "h3"
	protocolH2 = "h2"
	// protocolEither is HTTP/3 and HTTP/2 on one port, of which the client chooses.
	protocolEither = "h3-or-h2"
)

// settings are the knobs of one run, applied.
type settings struct {
	quic                 *quic.Config
	maxConcurrentStreams int // h2 server; 0: net/http's own
	http2Windows         http2Windows
	fallbackDelay        time.Duration
	stallTimeout         time.Duration // 0: none
	altSvcPort           int           // 0: no Alt-Svc
	uploadAnswer         string        // what a server does with uploads
	carrier              string        // of a live source's frames over QUIC
	moves                bool          // to the second address
	moveAt               time.Duration // after the start of the load; 0: never
	moveAfterSilence     time.Duration // 0: never
}

// http2Windows is how much of answers an HTTP/2 client takes before it has opened its windows further, in bytes.
type http2Windows struct{ stream, connection int }

const mostHTTP2Window = 1<<31 - 1 // RFC 9113, 6.9.1

// A knob changes one setting; `protocols` are those for which it means something.
type knob struct {
	protocols []string
	set       func(s *settings, value string) error
}

var (
	quicOnly   = []string{protocolH3, protocolHQ, protocolEither, protocolQUICLive}
	all        = []string{protocolH3, protocolHQ, protocolH2, protocolEither}
	overHTTP2  = []string{protocolH2, protocolEither}
	eitherOnly = []string{protocolEither}
)

var commonKnobs = mergedKnobs(windowKnobs, packetKnobs, timeoutKnobs, patchedKnobs)

var serverKnobs = mergedKnobs(earlyDataKnobs, altSvcKnobs, answerKnobs, map[string]knob{
	"max_incoming_streams": {all, countKnob(func(s *settings, n uint64) {
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

// A role is that of a server or of a client, with the knobs that only it has.
type role struct {
	serves bool
	knobs  map[string]knob
}

var (
	serving  = role{true, serverKnobs}
	fetching = role{false, mergedKnobs(raceKnobs, moveKnobs, http2Knobs, carrierKnobs)}
)

// newSettings applies knobs over the stack's own defaults.
func newSettings(protocol string, values map[string]string, as role) (*settings, error) {
	result := &settings{quic: &quic.Config{}, http2Windows: usualHTTP2Windows, fallbackDelay: defaultFallbackDelay, uploadAnswer: answerWhole, carrier: carrierStreams}
	acceptEarlyData(result.quic, true)
	trace(result.quic, as.serves)
	for name, value := range values {
		k, known := commonKnobs[name]
		if !known {
			k, known = as.knobs[name]
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

// windowKnob takes a window of HTTP/2 that is not smaller than the least, in bytes.
func windowKnob(least uint64, set func(*settings, int)) func(*settings, string) error {
	return func(s *settings, value string) error {
		n, err := strconv.ParseUint(value, 10, 62)
		if err != nil || n < least || n > mostHTTP2Window {
			return fmt.Errorf("not a whole number from %d to %d", least, mostHTTP2Window)
		}
		set(s, int(n))
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

func secondsKnob(set func(*settings, time.Duration)) func(*settings, string) error {
	return func(s *settings, value string) error {
		seconds, err := strconv.ParseFloat(value, 64)
		if err != nil || !(seconds >= 0 && seconds <= mostWaitS) {
			return fmt.Errorf("not a number of seconds from 0 to %d", mostWaitS)
		}
		set(s, time.Duration(seconds*float64(time.Second)))
		return nil
	}
}

func setEnvironment(name, value string) {
	if err := os.Setenv(name, value); err != nil {
		panic(err) // the names are constants
	}
}
