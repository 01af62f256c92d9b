package main

import (
	"encoding/json"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"time"
)

const library = "github.com/quic-go/quic-go"

// started anchors every time of this process, so that differences never jump.
var started = time.Now()

// now returns nanoseconds since 1970.
func now() int64 {
	return started.UnixNano() + time.Since(started).Nanoseconds()
}

var stdout sync.Mutex

// emit writes one JSON line to standard output.
func emit(line any) {
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
	Port     uint16 `json:"port"`
	Version  string `json:"version"`
}

// A tunnelLine reports that packets of one client's socket are carried to a target from now on.
type tunnelLine struct {
	Event  string `json:"event"`
	Role   string `json:"role"`
	From   string `json:"from"` // the client's socket beside the relay, or the relay's before the proxy
	Target string `json:"target"`
	TReady int64  `json:"t_ready_ns"`
}

type errorLine struct {
	Event     string `json:"event"`
	Reason    string `json:"reason"`
	Supported *bool  `json:"supported,omitempty"`
}

func emitReady(o options) {
	emit(readyLine{
		Event: "ready", Role: o.role, Protocol: "h3", Address: o.listen.Addr().String(), Port: o.listen.Port(),
		Version: libraryVersion(),
	})
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
