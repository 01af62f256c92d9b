package main

import (
	"encoding/json"
	"os"
	"time"
)

// started anchors every time of this process: wall time is read once and the monotonic clock does the rest,
// so that differences never jump.
var started = time.Now()

// now returns nanoseconds since 1970.
func now() int64 {
	return started.UnixNano() + time.Since(started).Nanoseconds()
}

// emit writes one JSON line to standard output.
func emit(line any) {
	text, err := json.Marshal(line)
	if err != nil {
		panic(err) // the types below always marshal
	}
	if _, err := os.Stdout.Write(append(text, '\n')); err != nil {
		os.Exit(exitFailed) // nobody is listening any more
	}
}

type readyLine struct {
	Event    string `json:"event"`
	Role     string `json:"role"`
	Protocol string `json:"protocol"`
	Address  string `json:"address"`
	Port     int    `json:"port"`
	Version  string `json:"version"`
}

// A connectionLine reports the first datagram from the other end. There is no handshake, so nothing is ever resumed.
type connectionLine struct {
	Event        string `json:"event"`
	Protocol     string `json:"protocol"`
	Local        string `json:"local"`
	Remote       string `json:"remote"`
	Primes       bool   `json:"primes"`
	Resumed      bool   `json:"resumed"`
	Used0RTT     bool   `json:"used_0rtt"`
	TStartNs     int64  `json:"t_start_ns,omitempty"` // client
	THandshakeNs int64  `json:"t_handshake_ns"`
}

type errorLine struct {
	Event     string `json:"event"`
	Reason    string `json:"reason"`
	Supported *bool  `json:"supported,omitempty"`
}
