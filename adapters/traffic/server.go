package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"
)

type serverOptions struct {
	protocol string
	address  string
	port     int
	traffic  settings
}

func parseServerOptions(arguments []string) (serverOptions, error) {
	options := serverOptions{traffic: defaults()}
	var knobs []string
	flags := flag.NewFlagSet("server", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&options.protocol, "protocol", "", "")
	flags.StringVar(&options.address, "address", "", "")
	flags.IntVar(&options.port, "port", 0, "")
	for _, unused := range []string{"www", "certificate", "key"} { // every server gets them; this one has no use for them
		flags.String(unused, "", "")
	}
	flags.Func("knob", "", func(text string) error { knobs = append(knobs, text); return nil })
	if err := flags.Parse(arguments); err != nil {
		return options, usageError{fmt.Errorf("%w\n%s", err, usage)}
	}
	if flags.NArg() > 0 || options.protocol == "" {
		return options, usageError{errors.New(usage)}
	}
	if options.protocol != protocol {
		return options, unsupportedError{fmt.Errorf("protocol %q", options.protocol)}
	}
	for _, knob := range knobs {
		name, value, _ := strings.Cut(knob, "=")
		if err := options.traffic.set(name, value); err != nil {
			return options, err
		}
	}
	return options, options.traffic.seed(os.Getenv("LONGLOOK_SEED"), os.Getenv("LONGLOOK_FLOW"))
}

// serve waits for the first datagram and sends to where it came from for ever. Later ones, the client's hellos until our
// first packet reaches it, stay unread.
func serve(options serverOptions) error {
	ip := net.ParseIP(options.address)
	if ip == nil {
		return usageError{fmt.Errorf("%q is not an IP address", options.address)}
	}
	socket, err := net.ListenUDP("udp4", &net.UDPAddr{IP: ip, Port: options.port})
	if err != nil {
		return err
	}
	alarm, err := newAlarm()
	if err != nil {
		return err
	}
	local := socket.LocalAddr().(*net.UDPAddr).AddrPort()
	emit(readyLine{"ready", "server", protocol, local.Addr().String(), int(local.Port()), version})
	_, client, err := socket.ReadFromUDPAddrPort(make([]byte, 1))
	if err != nil {
		return err
	}
	emit(connectionLine{Event: "connection", Protocol: protocol, Local: local.String(), Remote: client.String(), THandshakeNs: now()})
	return send(socket, client, options.traffic, alarm)
}

// send follows the schedule. A wake-up may come late, on a busy machine; what is due by then goes out a few packets at a time,
// at twice the rate, so that lateness neither adds up nor becomes a burst that the schedule does not have.
func send(socket *net.UDPConn, client netip.AddrPort, traffic settings, alarm *alarm) error {
	const atOnce = 4
	payload := make([]byte, traffic.packetSize)
	plan := newSchedule(traffic)
	catchUp := time.Duration(plan.interval * atOnce / 2)
	began := time.Now()
	due := plan.next()
	for {
		for sent := 0; sent < atOnce && due <= time.Since(began); sent++ {
			if _, err := socket.WriteToUDPAddrPort(payload, client); err != nil {
				return err
			}
			due = plan.next()
		}
		wait := due - time.Since(began)
		if wait <= 0 {
			wait = catchUp
		}
		if err := alarm.wait(wait); err != nil {
			return err
		}
	}
}
