// Command adapter is cross traffic over UDP for Longlook: a server that sends datagrams to its client at a rate, always or in
// periods, whatever the network does to them. The contract is adapters/CONTRACT.md.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

const (
	version  = "1.0"
	protocol = "udp"
)

const (
	exitFailed      = 1
	exitUsage       = 2
	exitUnsupported = 127
)

const usage = `usage: adapter server --protocol udp --address IP --port N [--knob NAME=VALUE]...
       adapter client JOB.json`

// A usageError is the caller's mistake.
type usageError struct{ error }

// An unsupportedError is a request that this stack cannot meet.
type unsupportedError struct{ error }

func main() {
	os.Exit(exitCode(run(os.Args[1:])))
}

func run(arguments []string) error {
	switch {
	case len(arguments) > 0 && arguments[0] == "server":
		options, err := parseServerOptions(arguments[1:])
		if err != nil {
			return err
		}
		return untilSignalled(func() error { return serve(options) })
	case len(arguments) == 2 && arguments[0] == "client":
		job, err := readJob(arguments[1])
		if err != nil {
			return err
		}
		return untilSignalled(func() error { return receive(job) })
	}
	return usageError{errors.New(usage)}
}

// untilSignalled runs work to its end, or until SIGTERM or SIGINT. Neither end has a connection to close.
func untilSignalled(work func() error) error {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	done := make(chan error, 1)
	go func() { done <- work() }()
	select {
	case err := <-done:
		return err
	case <-stop:
		return nil
	}
}

// exitCode reports an error as the contract demands and returns the exit code for it.
func exitCode(err error) int {
	if err == nil {
		return 0
	}
	if errors.As(err, new(unsupportedError)) {
		supported := false
		emit(errorLine{Event: "error", Reason: err.Error(), Supported: &supported})
		return exitUnsupported
	}
	fmt.Fprintln(os.Stderr, err)
	emit(errorLine{Event: "error", Reason: err.Error()})
	if errors.As(err, new(usageError)) {
		return exitUsage
	}
	return exitFailed
}
