package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

const interopLimit = 60 * time.Second

// interopProtocols are the supported test cases of the QUIC interop runner and what they speak.
var interopProtocols = map[string]string{
	"handshake":  protocolHQ,
	"transfer":   protocolHQ,
	"resumption": protocolHQ,
	"zerortt":    protocolHQ,
	"http3":      protocolH3,
}

// runInterop follows the conventions of the QUIC interop runner.
func runInterop() error {
	testCase := os.Getenv("TESTCASE")
	protocol, known := interopProtocols[testCase]
	if !known {
		return unsupportedError{fmt.Errorf("test case %q", testCase)}
	}
	switch role := os.Getenv("ROLE"); role {
	case "server":
		return interopServer(protocol, testCase)
	case "client":
		return interopClient(protocol, testCase)
	default:
		return usageError{fmt.Errorf("ROLE=%q is neither server nor client", role)}
	}
}

func interopServer(protocol, testCase string) error {
	port, err := strconv.Atoi(environment("PORT", "443"))
	if err != nil {
		return usageError{fmt.Errorf("PORT: %w", err)}
	}
	certificates := environment("CERTS", "/certs")
	return runServer(serverOptions{
		protocol:    protocol,
		port:        port,
		www:         environment("WWW", "/www"),
		certificate: filepath.Join(certificates, "cert.pem"),
		key:         filepath.Join(certificates, "priv.key"),
		knobs:       map[string]string{"allow_0rtt": strconv.FormatBool(testCase == "zerortt")},
	})
}

func interopClient(protocol, testCase string) error {
	urls, err := parseRequests(os.Getenv("REQUESTS"))
	if err != nil {
		return err
	}
	first := urls[0]
	remote, err := net.ResolveUDPAddr("udp", net.JoinHostPort(first.Hostname(), portOf(first)))
	if err != nil {
		return err
	}
	s, err := newSettings(protocol, nil, fetching)
	if err != nil {
		return err
	}
	log, err := keyLog()
	if err != nil {
		return err
	}
	// The runner's certificates name its own hosts, and its endpoints do not verify them.
	security := &tls.Config{
		ServerName: first.Hostname(), InsecureSkipVerify: true, MinVersion: tls.VersionTLS13,
		NextProtos: []string{protocol}, KeyLogWriter: log,
	}
	defer finishQlogs(time.Second)
	ctx, cancel := withLimit(interopLimit)
	defer cancel()
	d := dialing{protocol: protocol, remote: remote, security: security, settings: s}
	if testCase != "resumption" && testCase != "zerortt" {
		return download(ctx, d, urls, nil)
	}
	if len(urls) < 2 {
		return usageError{fmt.Errorf("%s wants at least two REQUESTS", testCase)}
	}
	tickets := newTicketCache()
	security.ClientSessionCache = tickets
	d.primes = true
	if err := download(ctx, d, urls[:1], tickets); err != nil {
		return err
	}
	d.primes, d.early = false, testCase == "zerortt"
	return download(ctx, d, urls[1:], nil)
}

// download fetches all URLs at once on one connection, and then waits for a ticket where one is wanted.
func download(ctx context.Context, d dialing, urls []*url.URL, tickets *ticketCache) error {
	d.start = now()
	conn, err := d.open(ctx)
	if err != nil {
		return err
	}
	defer conn.close()
	failures := make([]error, len(urls))
	var all sync.WaitGroup
	for i, each := range urls {
		all.Go(func() { failures[i] = downloadOne(ctx, conn, each) })
	}
	all.Wait()
	if err := errors.Join(failures...); err != nil {
		return err
	}
	if tickets == nil {
		return nil
	}
	select {
	case <-tickets.here:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("no session ticket: %w", reason(ctx, ctx.Err()))
	}
}

func downloadOne(ctx context.Context, conn connection, target *url.URL) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return err
	}
	response, err := conn.roundTrip(request)
	if err != nil {
		return fmt.Errorf("%s: %w", target, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: HTTP status %d", target, response.StatusCode)
	}
	file, err := os.Create(filepath.Join(environment("DOWNLOADS", "/downloads"), filepath.Base(target.Path)))
	if err != nil {
		return err
	}
	if _, err := copyBody(file, response.Body, nil); err != nil {
		_ = file.Close()
		return fmt.Errorf("%s: %w", target, err)
	}
	return file.Close()
}

func parseRequests(text string) ([]*url.URL, error) {
	var urls []*url.URL
	for field := range strings.FieldsSeq(text) {
		parsed, err := url.Parse(field)
		if err != nil || parsed.Scheme != "https" || parsed.Host == "" {
			return nil, usageError{fmt.Errorf("REQUESTS: %q is not an https URL", field)}
		}
		urls = append(urls, parsed)
	}
	if len(urls) == 0 {
		return nil, usageError{errors.New("REQUESTS is empty")}
	}
	return urls, nil
}

func environment(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

func portOf(target *url.URL) string {
	if port := target.Port(); port != "" {
		return port
	}
	return "443"
}
