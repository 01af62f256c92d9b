package main

import (
	"encoding/json"
	"os"
	"sync"
	"time"
)

// started anchors every time of this process: wall time is read once and the monotonic clock does the rest,
// so that differences never jump.
var started = time.Now()

// now returns nanoseconds since 1970.
func now() int64 {
	return started.UnixNano() + time.Since(started).Nanoseconds()
}

var stdout sync.Mutex

// emit writes one JSON line to standard output.
func emit(line interface{}) {
	text, err := json.Marshal(line)
	if err != nil {
		panic(err) // the types below always marshal
	}
	stdout.Lock()
	defer stdout.Unlock()
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

type connectionLine struct {
	Event        string `json:"event"`
	Protocol     string `json:"protocol"`
	Local        string `json:"local"`
	Remote       string `json:"remote"`
	Primes       *bool  `json:"primes,omitempty"` // client
	Resumed      bool   `json:"resumed"`
	Used0RTT     bool   `json:"used_0rtt"`
	TStartNs     int64  `json:"t_start_ns,omitempty"` // client
	THandshakeNs int64  `json:"t_handshake_ns"`
	// CongestionControl is the kernel's answer for this connection's socket (h2).
	CongestionControl string `json:"congestion_control,omitempty"`
	// The windows that a client offers at first, in bytes (h2).
	HTTP2StreamWindow     int `json:"http2_stream_window,omitempty"`
	HTTP2ConnectionWindow int `json:"http2_connection_window,omitempty"`
	// GSO is whether UDP segmentation offload was in use when the handshake ended (QUIC).
	GSO *bool `json:"gso,omitempty"`
}

type objectLine struct {
	Event        string  `json:"event"`
	URL          string  `json:"url"`
	Path         string  `json:"path"`
	Local        *string `json:"local"` // of the connection that carried it; null where none could be opened
	Protocol     *string `json:"protocol"`
	Status       *int    `json:"status"`
	TStartNs     int64   `json:"t_start_ns"`
	TFirstByteNs *int64  `json:"t_first_byte_ns"`
	TEndNs       *int64  `json:"t_end_ns"`
	Bytes        int64   `json:"bytes"`
	Digest       *string `json:"digest"`
	Error        *string `json:"error"`
	AltSvc       string  `json:"alt_svc,omitempty"`  // the answer's header
	Priority     string  `json:"priority,omitempty"` // the request's header
	Method       string  `json:"method,omitempty"`   // of an upload
	// What of an upload had reached the server, by its answer.
	UploadedBytes  *int64  `json:"uploaded_bytes,omitempty"`
	UploadedDigest *string `json:"uploaded_digest,omitempty"`
}

// An uploadLine is what a server received.
type uploadLine struct {
	Event    string  `json:"event"`
	Path     string  `json:"path"`
	Method   string  `json:"method"`
	Remote   string  `json:"remote"`
	TStartNs int64   `json:"t_start_ns"`
	TEndNs   *int64  `json:"t_end_ns"` // the whole body was read; null where it was not
	Bytes    int64   `json:"bytes"`
	Digest   string  `json:"digest"`
	Error    *string `json:"error"`
}

type errorLine struct {
	Event     string `json:"event"`
	Reason    string `json:"reason"`
	Supported *bool  `json:"supported,omitempty"`
}
