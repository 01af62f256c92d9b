package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"maps"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const testHost = "www.example.test"

// writeIdentity makes a certificate of its own authority, and returns the paths of certificate and key.
func writeIdentity(t *testing.T) (certificate, key string) {
	t.Helper()
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{testHost}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true,
	}
	signed, err := x509.CreateCertificate(rand.Reader, &template, &template, secret.Public(), secret)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("certificate.pem", "CERTIFICATE", signed), write("key.pem", "PRIVATE KEY", private)
}

// serveFile serves /a of 100,000 bytes on a free port of the loopback, and returns that port and the authority.
func serveFile(t *testing.T, protocol string) (port uint16, authority string) {
	t.Helper()
	return serveFileWith(t, protocol, nil)
}

// serveFileWith is serveFile with knobs.
func serveFileWith(t *testing.T, protocol string, knobs map[string]string) (port uint16, authority string) {
	t.Helper()
	certificate, key := writeIdentity(t)
	www := t.TempDir()
	for name, size := range map[string]int{"a": 100_000, "prime": 1} {
		if err := os.WriteFile(filepath.Join(www, name), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	running, err := startService(serverOptions{
		protocol: protocol, address: "127.0.0.1", www: www, certificate: certificate, key: key, knobs: knobs,
	})
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = running.serve() }()
	t.Cleanup(running.close)
	_, free := splitAddress(running.address())
	return uint16(free), certificate
}

type printedLine struct {
	Event, Local  string
	Protocol      string
	Primes        *bool
	Resumed       bool
	Error, Digest *string
	Path, Method  string
	Priority      string
	Bytes         int64
	Status        *int
	TStartNs      int64  `json:"t_start_ns"`
	TEndNs        *int64 `json:"t_end_ns"`
	THandshakeNs  *int64 `json:"t_handshake_ns"`

	UploadedBytes  *int64  `json:"uploaded_bytes"`
	UploadedDigest *string `json:"uploaded_digest"`
}

// printedTo runs a function that prints lines, and returns the file that has them, with its result.
func printedTo(t *testing.T, run func() error) (string, error) {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	stdout.Lock()
	before := os.Stdout
	os.Stdout = out
	stdout.Unlock()
	result := run()
	stdout.Lock()
	os.Stdout = before
	stdout.Unlock()
	return out.Name(), result
}

// printed runs a function that prints lines, and returns them with its result.
func printed(t *testing.T, run func() error) ([]printedLine, error) {
	t.Helper()
	file, result := printedTo(t, run)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var lines []printedLine
	for each := range strings.Lines(string(text)) {
		var line printedLine
		if err := json.Unmarshal([]byte(each), &line); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	return lines, result
}

func jobFor(protocol, state string, port uint16, authority string, connections int) *job {
	return &job{
		Protocol: protocol, Connection: state, Address: "127.0.0.1", Port: port, Phases: [][]string{{"/a"}},
		Identity: identity{Host: testHost, CA: authority}, TimeoutS: 10, Connections: connections,
	}
}

func TestSeveralConnectionsFetchEverythingEach(t *testing.T) {
	for _, c := range []struct{ protocol, state string }{
		{protocolH3, connectionCold}, {protocolH3, connectionResumed}, {protocolH3, connection0RTT},
		{protocolH2, connectionCold}, {protocolH2, connectionResumed},
		{protocolHQ, connectionCold}, {protocolHQ, connectionResumed}, {protocolHQ, connection0RTT},
	} {
		t.Run(c.protocol+" "+c.state, func(t *testing.T) {
			port, authority := serveFile(t, c.protocol)
			lines, err := printed(t, func() error { return runClient(jobFor(c.protocol, c.state, port, authority, 3)) })
			if err != nil {
				t.Fatal(err)
			}
			opened, carried := map[string]int{}, map[string]int{}
			for _, line := range lines {
				switch {
				case line.Event == "object" && line.Error == nil && line.Digest != nil:
					carried[line.Local]++
				case line.Event == "connection" && line.Primes != nil && !*line.Primes && line.Resumed == (c.state != connectionCold):
					opened[line.Local]++
				}
			}
			// The server is in this process, and prints connection lines of its own: all at one address, without primes.
			if len(opened) != 3 || !maps.Equal(opened, carried) {
				t.Errorf("opened %v, carried %v", opened, carried)
			}
			if slices.Max(slices.Collect(maps.Values(carried))) != 1 {
				t.Errorf("carried %v", carried)
			}
		})
	}
}

func TestConnectionsThatCannotBeOpenedAreReportedEach(t *testing.T) {
	_, authority := serveFile(t, protocolH2)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port := splitAddress(taken.Addr())
	if err := taken.Close(); err != nil { // nobody listens there any more
		t.Fatal(err)
	}
	for _, state := range []string{connectionCold, connectionResumed} {
		lines, err := printed(t, func() error { return runClient(jobFor(protocolH2, state, uint16(port), authority, 2)) })
		if !errors.Is(err, errReported) {
			t.Errorf("%s: %v", state, err)
		}
		if len(lines) != 2 || lines[0].Error == nil || lines[1].Error == nil || lines[0].Local != "" {
			t.Errorf("%s: %v", state, lines)
		}
	}
}

func TestWaitsComeAfterTheHandshakeAndBetweenPhases(t *testing.T) {
	for _, protocol := range []string{protocolH3, protocolH2} {
		t.Run(protocol, func(t *testing.T) {
			port, authority := serveFile(t, protocol)
			j := jobFor(protocol, connectionCold, port, authority, 1)
			j.Phases, j.WaitsS = [][]string{{"/a"}, {"/a"}}, []float64{0.2, 0.3}
			lines, err := printed(t, func() error { return runClient(j) })
			if err != nil {
				t.Fatal(err)
			}
			var secure int64
			var objects []printedLine
			for _, line := range lines {
				switch {
				case line.Event == "connection" && line.Primes != nil && line.THandshakeNs != nil:
					secure = *line.THandshakeNs
				case line.Event == "object":
					objects = append(objects, line)
				}
			}
			if secure == 0 || len(objects) != 2 || objects[1].TEndNs == nil || objects[0].TEndNs == nil {
				t.Fatalf("handshake at %d, objects %v", secure, objects)
			}
			if warm := objects[0].TStartNs - secure; warm < 200e6 {
				t.Errorf("the first request came %d ns after the handshake", warm)
			}
			if idle := objects[1].TStartNs - *objects[0].TEndNs; idle < 300e6 {
				t.Errorf("the second request came %d ns after the first object", idle)
			}
		})
	}
}

func TestAWaitThatOutlastsTheTimeLimitReportsWhatWasNotAskedFor(t *testing.T) {
	port, authority := serveFile(t, protocolH2)
	j := jobFor(protocolH2, connectionCold, port, authority, 1)
	j.Phases, j.WaitsS, j.TimeoutS = [][]string{{"/a"}, {"/a"}}, []float64{0, 30}, 0.5
	lines, err := printed(t, func() error { return runClient(j) })
	if !errors.Is(err, errReported) {
		t.Errorf("%v", err)
	}
	failed := 0
	for _, line := range lines {
		if line.Event == "object" && line.Error != nil && strings.Contains(*line.Error, "not done within 0.5 s") {
			failed++
		}
	}
	if failed != 1 {
		t.Errorf("%d objects failed for want of time", failed)
	}
}

func TestRequestsHaveThePriorityOfTheJobAndReportIt(t *testing.T) {
	for _, protocol := range []string{protocolH3, protocolH2} {
		port, authority := serveFile(t, protocol)
		j := jobFor(protocol, connectionCold, port, authority, 1)
		j.Phases, j.Priorities = [][]string{{"/a", "/prime"}}, map[string]string{"/a": "u=1, i"}
		lines, err := printed(t, func() error { return runClient(j) })
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]string{}
		for _, line := range lines {
			if line.Event == "object" {
				found[line.Path] = line.Priority
			}
		}
		if !maps.Equal(found, map[string]string{"/a": "u=1, i", "/prime": ""}) {
			t.Errorf("%s: %v", protocol, found)
		}
	}
}
