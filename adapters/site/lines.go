package main

import (
	"encoding/json"
	"os"
	"runtime/debug"
	"strings"
	"time"
)

const library = "github.com/quic-go/quic-go"

// started anchors every time of this process, so that differences never jump.
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
	Event   string `json:"event"`
	Role    string `json:"role"`
	Address string `json:"address"`
	Port    uint16 `json:"port"`
	Version string `json:"version"`
}

// A baseLine is what handshakes took without emulation, over TCP with TLS or over QUIC.
type baseLine struct {
	Event       string  `json:"event"`
	Transport   string  `json:"transport"`    // tcp or quic
	Address     string  `json:"address"`      // that answered, or did not
	TStartNs    int64   `json:"t_start_ns"`   // of the first
	ConnectNs   []int64 `json:"connect_ns"`   // of TCP: from SYN to SYN-ACK, a connection each
	HandshakeNs int64   `json:"handshake_ns"` // until TLS was complete, with TCP's own
	ALPN        string  `json:"alpn"`         // that was agreed upon
	Certificate string  `json:"certificate"`  // digest of the server's own
	ChainBytes  int     `json:"chain_bytes"`  // of all certificates that it sent
	NotAfter    string  `json:"not_after"`
	Error       *string `json:"error"`
}

// An answerLine is the answer to one request without emulation.
type answerLine struct {
	Event    string            `json:"event"`
	Protocol string            `json:"protocol"` // that was asked for, h2 or h3
	Status   int               `json:"status"`
	Bytes    int64             `json:"bytes"`
	Digest   string            `json:"digest"`
	Headers  map[string]string `json:"headers"`
	TookNs   int64             `json:"took_ns"`
	Error    *string           `json:"error"`
}

type errorLine struct {
	Event  string `json:"event"`
	Reason string `json:"reason"`
}

// libraryVersion returns quic-go's.
func libraryVersion() string {
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == library {
			return strings.TrimPrefix(module.Version, "v")
		}
	}
	return ""
}

// text is an error as lines have it; nil of none.
func text(err error) *string {
	if err == nil {
		return nil
	}
	found := err.Error()
	return &found
}
