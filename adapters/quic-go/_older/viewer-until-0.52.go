package main

import (
	"context"
	"errors"
	"net/http"
)

// Live sources are what newer versions have.
const (
	protocolQUICLive = "quic-live"
	protocolTLSLive  = "tls-live"
	protocolUDPLive  = "udp-live"
	carrierStreams   = ""
)

type sourceJob struct{}

var errNoLive = unsupportedError{errors.New("a live source with this version of quic-go")}

var carrierKnobs = map[string]knob{}

func isLive(protocol string) bool {
	return protocol == protocolQUICLive || protocol == protocolTLSLive || protocol == protocolUDPLive
}

func checkLive(*job) error { return errNoLive }

func view(context.Context, dialing, *job) error { return errNoLive }

func startQUICLive(serverOptions, http.Handler, *settings) (service, error) { return nil, errNoLive }

func startTLSLive(serverOptions, http.Handler, *settings) (service, error) { return nil, errNoLive }

func startUDPLive(serverOptions, http.Handler, *settings) (service, error) { return nil, errNoLive }
