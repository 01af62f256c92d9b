package main

import (
	"context"
	"errors"
	"net/http"
)

// protocolHQ is what the QUIC interop runner needs, and newer versions speak.
const protocolHQ = "hq-interop"

var errNoHQ = unsupportedError{errors.New("HTTP/0.9 with this version of quic-go")}

func checkHQ(*job) error { return errNoHQ }

func startHQ(serverOptions, http.Handler, *settings) (service, error) { return nil, errNoHQ }

func dialHQ(context.Context, dialing) (connection, error) { return nil, errNoHQ }
