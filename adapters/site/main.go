// Program site stands for a server of the world outside. It measures the path to it without emulation, asks it what it
// answers, and serves nothing itself. The contract is adapters/CONTRACT.md; README.md has its lines.
package main

import (
	"context"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/signal"
	"syscall"
	"time"
)

const (
	exitFailed = 1
	exitUsage  = 2

	port          = 443
	addressOf     = "LONGLOOK_SITE_ADDRESS"
	usage         = "usage: site server|look --host NAME --ca PEM [--address IP] [--path PATH --user-agent TEXT --most-bytes N]"
	handshakeTime = 4 * time.Second
	answerTime    = 30 * time.Second
)

// A site is a server of the world outside, at one of its addresses.
type site struct {
	host        string
	address     netip.AddrPort
	authorities *x509.CertPool
	path        string
	userAgent   string
	mostBytes   int64
}

func main() {
	if len(os.Args) < 2 || (os.Args[1] != "server" && os.Args[1] != "look") {
		end(badUsage(usage))
	}
	s, err := parse(os.Args[1], os.Args[2:])
	if err != nil {
		end(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	for _, line := range s.base(ctx) {
		emit(line)
	}
	if os.Args[1] == "look" {
		for _, line := range s.answers(ctx) {
			emit(line)
		}
		return
	}
	emit(readyLine{Event: "ready", Role: "server", Address: s.address.Addr().String(), Port: port, Version: libraryVersion()})
	<-ctx.Done()
}

func parse(role string, arguments []string) (site, error) {
	s := site{path: "/", mostBytes: 1 << 30}
	var ca string
	address := os.Getenv(addressOf)
	flags := flag.NewFlagSet(role, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&s.host, "host", "", "")
	flags.StringVar(&ca, "ca", "", "")
	flags.StringVar(&address, "address", address, "")
	flags.StringVar(&s.path, "path", s.path, "")
	flags.StringVar(&s.userAgent, "user-agent", "", "")
	flags.Int64Var(&s.mostBytes, "most-bytes", s.mostBytes, "")
	if err := flags.Parse(arguments); err != nil {
		return s, badUsage(err.Error())
	}
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return s, badUsage(fmt.Sprintf("address %q: %v", address, err))
	}
	if s.host == "" || (role == "look" && s.userAgent == "") {
		return s, badUsage(usage)
	}
	s.address = netip.AddrPortFrom(ip, port)
	pem, err := os.ReadFile(ca)
	if err != nil {
		return s, badUsage(err.Error())
	}
	s.authorities = x509.NewCertPool()
	if !s.authorities.AppendCertsFromPEM(pem) {
		return s, badUsage(ca + ": no certificate in it")
	}
	return s, nil
}

// end reports why the program cannot go on, and exits.
func end(err error) {
	fmt.Fprintln(os.Stderr, err)
	emit(errorLine{Event: "error", Reason: err.Error()})
	code := exitFailed
	var wrong badUsage
	if errors.As(err, &wrong) {
		code = exitUsage
	}
	os.Exit(code)
}

// badUsage is an error of the caller.
type badUsage string

func (e badUsage) Error() string { return string(e) }
