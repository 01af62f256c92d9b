package main

import (
	"errors"
	"flag"
	"fmt"
	"io/ioutil"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

type serverOptions struct {
	protocol    string
	address     string
	port        int
	www         string
	certificate string
	key         string
	knobs       map[string]string
}

func parseServerOptions(arguments []string) (serverOptions, error) {
	options := serverOptions{knobs: map[string]string{}}
	flags := flag.NewFlagSet("server", flag.ContinueOnError)
	flags.SetOutput(ioutil.Discard)
	flags.StringVar(&options.protocol, "protocol", "", "")
	flags.StringVar(&options.address, "address", "", "")
	flags.IntVar(&options.port, "port", 0, "")
	flags.StringVar(&options.www, "www", "", "")
	flags.StringVar(&options.certificate, "certificate", "", "")
	flags.StringVar(&options.key, "key", "", "")
	flags.Var(knobFlag(options.knobs), "knob", "")
	if err := flags.Parse(arguments); err != nil {
		return options, usageError{fmt.Errorf("%w\n%s", err, usage)}
	}
	if flags.NArg() > 0 || options.protocol == "" || options.www == "" || options.certificate == "" || options.key == "" {
		return options, usageError{errors.New(usage)}
	}
	return options, nil
}

// knobFlag collects --knob NAME=VALUE.
type knobFlag map[string]string

func (f knobFlag) String() string { return "" }

// Set implements flag.Value.
func (f knobFlag) Set(text string) error {
	parts := strings.SplitN(text, "=", 2)
	if len(parts) < 2 {
		return errors.New("wants NAME=VALUE")
	}
	f[parts[0]] = parts[1]
	return nil
}

// A service is a running server of one protocol.
type service interface {
	address() net.Addr
	// serve returns when the service fails or is closed.
	serve() error
	// close ends all connections properly, within half a second.
	close()
}

// runServer serves until SIGTERM or SIGINT.
func runServer(options serverOptions) error {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	running, err := startService(options)
	if err != nil {
		return err
	}
	address, port := splitAddress(running.address())
	emit(readyLine{Event: "ready", Role: "server", Protocol: options.protocol, Address: address, Port: port, Version: stackVersion()})
	failed := make(chan error, 1)
	go func() { failed <- running.serve() }()
	select {
	case err = <-failed:
	case <-stop:
	}
	running.close()
	finishQlogs(300 * time.Millisecond)
	return err
}

func startService(options serverOptions) (service, error) {
	start, known := map[string]func(serverOptions, http.Handler, *settings) (service, error){
		protocolH3:       startH3,
		protocolH2:       startH2,
		protocolHQ:       startHQ,
		protocolEither:   startEither,
		protocolQUICLive: startQUICLive,
		protocolTLSLive:  startTLSLive,
		protocolUDPLive:  startUDPLive,
	}[options.protocol]
	if !known {
		return nil, unsupportedError{fmt.Errorf("protocol %q", options.protocol)}
	}
	knobs, err := newSettings(options.protocol, options.knobs, serving)
	if err != nil {
		return nil, err
	}
	files, err := fileServer(options.www, knobs.uploadAnswer)
	if err != nil {
		return nil, err
	}
	return start(options, files, knobs)
}

func splitAddress(address net.Addr) (string, int) {
	switch a := address.(type) {
	case *net.UDPAddr:
		return a.IP.String(), a.Port
	case *net.TCPAddr:
		return a.IP.String(), a.Port
	}
	return address.String(), 0
}

func parseIP(address string) (net.IP, error) {
	if address == "" {
		return nil, nil // all of the machine's
	}
	ip := net.ParseIP(address)
	if ip == nil {
		return nil, usageError{fmt.Errorf("%q is not an IP address", address)}
	}
	return ip, nil
}
