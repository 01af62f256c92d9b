// Command adapter drives quic-go for Longlook: HTTP/3 over QUIC and HTTP/2 over TLS 1.3 and TCP from one program, so that
// both sides of a comparison share files, HTTP semantics and TLS library. The contract is adapters/CONTRACT.md.
package main

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
)

const (
	exitFailed      = 1
	exitUsage       = 2
	exitUnsupported = 127
)

const usage = `usage: adapter server --protocol h3|h2|h3-or-h2 --address IP --port N --www DIR --certificate PEM --key PEM [--knob NAME=VALUE]...
       adapter client JOB.json
       ROLE=server|client TESTCASE=... adapter      (conventions of the QUIC interop runner)`

// A usageError is the caller's mistake.
type usageError struct{ error }

// An unsupportedError is a request that this stack cannot meet.
type unsupportedError struct{ error }

// errReported is a failure whose lines have been printed already.
var errReported = errors.New("some objects did not arrive")

func main() {
	os.Exit(exitCode(run(os.Args[1:])))
}

func run(arguments []string) error {
	if len(arguments) == 0 && os.Getenv("ROLE") != "" {
		return runInterop()
	}
	switch {
	case len(arguments) > 0 && arguments[0] == "server":
		options, err := parseServerOptions(arguments[1:])
		if err != nil {
			return err
		}
		return runServer(options)
	case len(arguments) == 2 && arguments[0] == "client":
		job, err := readJob(arguments[1])
		if err != nil {
			return err
		}
		return runClient(job)
	}
	return usageError{errors.New(usage)}
}

// exitCode reports an error as the contract demands and returns the exit code for it.
func exitCode(err error) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errReported):
		return exitFailed
	case errors.As(err, new(unsupportedError)):
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

// stackVersion is the version of quic-go that this program was built with.
func stackVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if strings.HasSuffix(module.Path, "/quic-go") { // it has had two owners
				return module.Version[1:] + patchedSuffix
			}
		}
	}
	return "unknown"
}
