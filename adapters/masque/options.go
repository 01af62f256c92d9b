package main

import (
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

const (
	// The smallest packets of the tunnel that have room for a first packet of any QUIC client (1280 bytes and more
	// for most), before path MTU discovery finds larger ones.
	firstPacketBytes = 1400
	idleLimit        = 30 * time.Second
	mostQueued       = 100_000
)

type options struct {
	role             string
	listen           netip.AddrPort // where datagrams of the client, or QUIC of the relay, come
	upstream         netip.AddrPort // of a proxy: the server; of a relay: the proxy
	target           netip.AddrPort // of a relay: the server
	certificate, key string
	ca, host         string
	warm             bool // the relay connects before the client begins
	queue            int  // packets that wait for the tunnel
}

func parse(role string, arguments []string) (options, error) {
	o := options{role: role, queue: 256}
	var protocol, address, port, upstream, target string
	flags := flag.NewFlagSet(role, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&protocol, "protocol", "", "")
	flags.StringVar(&address, "address", "", "")
	flags.StringVar(&port, "port", "", "")
	flags.StringVar(&upstream, "upstream", "", "")
	flags.StringVar(&target, "target", "", "")
	flags.StringVar(&o.certificate, "certificate", "", "")
	flags.StringVar(&o.key, "key", "", "")
	flags.StringVar(&o.ca, "ca", "", "")
	flags.StringVar(&o.host, "host", "", "")
	flags.Func("knob", "", o.set)
	if err := flags.Parse(arguments); err != nil {
		return o, classified(err)
	}
	if protocol != "h3" {
		return o, unsupported(fmt.Sprintf("protocol %q: UDP of QUIC alone is tunnelled (h3)", protocol))
	}
	wanted := map[string]*netip.AddrPort{address + ":" + port: &o.listen, upstream: &o.upstream}
	if role == "relay" {
		wanted[target] = &o.target
	}
	for text, into := range wanted {
		found, err := netip.ParseAddrPort(text)
		if err != nil {
			return o, badUsage(fmt.Sprintf("%q is no IP:PORT; %s", text, usage))
		}
		*into = found
	}
	if o.host == "" {
		return o, badUsage("--host is missing; " + usage)
	}
	return o, nil
}

// A knobError is what is wrong with a knob; package flag hides the error's type behind its text.
var knobError error

func (o *options) set(text string) error {
	name, value, _ := strings.Cut(text, "=")
	switch name {
	case "tunnel":
		if value != "cold" && value != "warm" {
			knobError = badUsage(fmt.Sprintf("knob tunnel=%s: neither cold nor warm", value))
		}
		o.warm = value == "warm"
	case "queue":
		count, err := strconv.Atoi(value)
		if err != nil || count < 1 || count > mostQueued {
			knobError = badUsage(fmt.Sprintf("knob queue=%s: not between 1 and %d", value, mostQueued))
		}
		o.queue = count
	default:
		knobError = unsupported(fmt.Sprintf("knob %q is unknown here", name))
	}
	return knobError
}

func classified(err error) error {
	if knobError != nil {
		return knobError
	}
	return badUsage(err.Error() + "; " + usage)
}

func quicConfig() *quic.Config {
	return &quic.Config{EnableDatagrams: true, InitialPacketSize: firstPacketBytes, MaxIdleTimeout: idleLimit}
}

func (o options) serverTLS() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(o.certificate, o.key)
	if err != nil {
		return nil, err
	}
	return http3.ConfigureTLSConfig(&tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS13}), nil
}

func (o options) clientTLS() (*tls.Config, error) {
	text, err := os.ReadFile(o.ca)
	if err != nil {
		return nil, err
	}
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s has no certificate", o.ca)
	}
	return &tls.Config{
		RootCAs: trusted, ServerName: o.host, NextProtos: []string{http3.NextProtoH3}, MinVersion: tls.VersionTLS13,
	}, nil
}
