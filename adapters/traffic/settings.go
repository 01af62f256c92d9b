package main

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strconv"
	"time"
)

const (
	lawFixed       = "fixed"
	lawExponential = "exponential"
)

// settings are the server's knobs, and the source of what is random.
type settings struct {
	rateBps    int64 // of IP packets, while it sends
	packetSize int64 // UDP payload
	on, off    time.Duration
	law        string
	random     *rand.Rand
}

func defaults() settings {
	return settings{rateBps: 1_000_000, packetSize: 1200, on: time.Second, law: lawFixed}
}

func (s *settings) set(name, value string) error {
	var err error
	switch name {
	case "rate":
		s.rateBps, err = whole(value, 1_000, 1_000_000_000)
	case "packet_size":
		s.packetSize, err = whole(value, 64, 1472)
	case "on":
		s.on, err = seconds(value, 0.001)
	case "off":
		s.off, err = seconds(value, 0)
	case "law":
		if s.law = value; value != lawFixed && value != lawExponential {
			err = fmt.Errorf("neither %s nor %s", lawFixed, lawExponential)
		}
	default:
		return unsupportedError{fmt.Errorf("knob %q", name)}
	}
	if err != nil {
		return usageError{fmt.Errorf("knob %s=%s: %w", name, value, err)}
	}
	return nil
}

// seed makes what is random the same in every trial of one seed, and different for each flow of a trial.
func (s *settings) seed(text, flow string) error {
	number, err := strconv.ParseUint(text, 10, 64)
	if text != "" && err != nil {
		return usageError{fmt.Errorf("LONGLOOK_SEED=%q is not a whole number", text)}
	}
	name := fnv.New64a()
	name.Write([]byte(flow))
	s.random = rand.New(rand.NewPCG(number, name.Sum64()))
	return nil
}

func whole(text string, least, most int64) (int64, error) {
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil || number < least || number > most {
		return 0, fmt.Errorf("not a whole number from %d to %d", least, most)
	}
	return number, nil
}

func seconds(text string, least float64) (time.Duration, error) {
	const most = 3600
	number, err := strconv.ParseFloat(text, 64)
	if err != nil || !(number >= least && number <= most) {
		return 0, fmt.Errorf("not a number of seconds from %g to %d", least, most)
	}
	return time.Duration(number * float64(time.Second)), nil
}
