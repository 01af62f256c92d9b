// Program masque carries a client's UDP packets in a QUIC connection to a proxy, which sends them on to the server:
// CONNECT-UDP (RFC 9298) over quic-go's HTTP/3 and its HTTP datagrams (RFC 9297). It is the proxy, and the relay that
// stands beside the client. The contract is adapters/CONTRACT.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

const (
	exitFailed      = 1
	exitUsage       = 2
	exitUnsupported = 127
)

const usage = "usage: masque proxy|relay --protocol h3 --address IP --port N --upstream IP:PORT [--target IP:PORT] " +
	"--certificate PEM --key PEM --ca PEM --host NAME [--knob NAME=VALUE]..."

func main() {
	if len(os.Args) < 2 || (os.Args[1] != "proxy" && os.Args[1] != "relay") {
		end(badUsage(usage))
	}
	o, err := parse(os.Args[1], os.Args[2:])
	if err != nil {
		end(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if o.role == "relay" {
		err = runRelay(ctx, o)
	} else {
		err = runProxy(ctx, o)
	}
	if ctx.Err() == nil {
		end(err)
	}
}

// end reports why the program cannot go on, and exits.
func end(err error) {
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, err)
	line, code := errorLine{Event: "error", Reason: err.Error()}, exitFailed
	var wrong badUsage
	var missing unsupported
	if errors.As(err, &wrong) {
		code = exitUsage
	} else if errors.As(err, &missing) {
		no := false
		line.Supported, code = &no, exitUnsupported
	}
	emit(line)
	os.Exit(code)
}

// badUsage is an error of the caller.
type badUsage string

func (e badUsage) Error() string { return string(e) }

// unsupported is something that this program cannot do.
type unsupported string

func (e unsupported) Error() string { return string(e) }
