package main

import (
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// choosing is a job for a client that chooses, with knobs.
func choosing(port uint16, authority string, knobs map[string]interface{}) *job {
	j := jobFor(protocolEither, connectionCold, port, authority, 1)
	j.Phases, j.Knobs = [][]string{{"/a", "/a"}, {"/a"}}, knobs
	return j
}

// spokenFor are the protocols of the objects that arrived whole.
func spokenFor(t *testing.T, lines []printedLine) string {
	t.Helper()
	var spoken []string
	for _, line := range lines {
		if line.Event == "object" {
			if line.Error != nil || line.Digest == nil || line.Local == "" {
				t.Errorf("%+v", line)
			}
			spoken = append(spoken, line.Protocol)
		}
	}
	return strings.Join(spoken, " ")
}

// openedBy are the times at which the client began each of its connections, by protocol.
func openedBy(lines []printedLine) map[string]int64 {
	opened := map[string]int64{}
	for _, line := range lines {
		if line.Event == "connection" && line.Primes != nil {
			opened[line.Protocol] = line.TStartNs
		}
	}
	return opened
}

func TestQUICCarriesALoadWhereItIsQuicker(t *testing.T) {
	port, authority := serveFile(t, protocolEither)
	lines, err := printed(t, func() error {
		return runClient(choosing(port, authority, map[string]interface{}{"fallback_delay": 5.0}))
	})
	if err != nil {
		t.Fatal(err)
	}
	if spoken := spokenFor(t, lines); spoken != "h3 h3 h3" {
		t.Errorf("objects came over %s", spoken)
	}
	if opened := openedBy(lines); len(opened) != 1 {
		t.Errorf("opened %v", opened)
	}
}

func TestTCPCarriesALoadWhereNothingAnswersQUIC(t *testing.T) {
	port, authority := serveFile(t, protocolH2)
	lines, err := printed(t, func() error {
		return runClient(choosing(port, authority, map[string]interface{}{"fallback_delay": 0.3}))
	})
	if err != nil {
		t.Fatal(err)
	}
	if spoken := spokenFor(t, lines); spoken != "h2 h2 h2" {
		t.Errorf("objects came over %s", spoken)
	}
	var first int64
	for _, line := range lines {
		if line.Event == "object" && (first == 0 || line.TStartNs < first) {
			first = line.TStartNs
		}
	}
	if waited := openedBy(lines)[protocolH2] - first; waited < 300e6 {
		t.Errorf("TCP began after %d ns", waited)
	}
}

func TestAStalledQUICConnectionIsGivenUpForTCP(t *testing.T) {
	behind, authority := serveFile(t, protocolEither)
	port := middlebox(t, behind, 12)
	lines, err := printed(t, func() error {
		return runClient(choosing(port, authority, map[string]interface{}{"fallback_delay": 5.0, "stall_timeout": 0.4}))
	})
	if err != nil {
		t.Fatal(err)
	}
	if spoken := spokenFor(t, lines); !strings.HasSuffix(spoken, "h2 h2") {
		t.Errorf("objects came over %s", spoken)
	}
	if opened := openedBy(lines); opened[protocolH2]-opened[protocolH3] < 400e6 {
		t.Errorf("opened %v", opened)
	}
}

func TestAStallIsNamedWhereTCPIsRefused(t *testing.T) {
	behind, authority := serveFile(t, protocolH3)
	port := middlebox(t, behind, 12)
	j := choosing(port, authority, map[string]interface{}{"fallback_delay": 5.0, "stall_timeout": 0.3})
	lines, err := printed(t, func() error { return runClient(j) })
	if !errors.Is(err, errReported) {
		t.Errorf("%v", err)
	}
	last := lines[len(lines)-1]
	if last.Error == nil || !strings.HasPrefix(*last.Error, "h3: nothing came for 0.3 s; h2: ") {
		t.Errorf("%+v", last)
	}
}

func TestTheTimeLimitIsNamedWhereItEndsALoadThatFellBack(t *testing.T) {
	behind, authority := serveFile(t, protocolH3)
	port := middlebox(t, behind, 12)
	j := choosing(port, authority, map[string]interface{}{"fallback_delay": 5.0, "stall_timeout": 5.0})
	j.TimeoutS = 0.6
	lines, err := printed(t, func() error { return runClient(j) })
	if !errors.Is(err, errReported) {
		t.Errorf("%v", err)
	}
	if last := lines[len(lines)-1]; last.Error == nil || *last.Error != "not done within 0.6 s" {
		t.Errorf("%+v", last)
	}
}

func TestAWaitIsNoStall(t *testing.T) {
	port, authority := serveFile(t, protocolEither)
	j := choosing(port, authority, map[string]interface{}{"fallback_delay": 5.0, "stall_timeout": 0.2})
	j.WaitsS = []float64{0.5, 0.5}
	lines, err := printed(t, func() error { return runClient(j) })
	if err != nil {
		t.Fatal(err)
	}
	if spoken := spokenFor(t, lines); spoken != "h3 h3 h3" {
		t.Errorf("objects came over %s", spoken)
	}
}

func TestALoadThatNeitherCarriesNamesBothReasons(t *testing.T) {
	_, authority := serveFile(t, protocolH2)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port := splitAddress(free.Addr())
	if err := free.Close(); err != nil { // nobody listens there any more
		t.Fatal(err)
	}
	j := choosing(uint16(port), authority, map[string]interface{}{"fallback_delay": 0.0})
	lines, err := printed(t, func() error { return runClient(j) })
	if !errors.Is(err, errReported) {
		t.Errorf("%v", err)
	}
	for _, line := range lines {
		if line.Event == "object" && (line.Error == nil || !strings.Contains(*line.Error, "h2: ") || !strings.Contains(*line.Error, "h3: ")) {
			t.Errorf("%+v", line)
		}
	}
}

func TestTwoProtocolsAreForColdConnections(t *testing.T) {
	for _, state := range []string{connectionResumed, connection0RTT} {
		j := choosing(1, "", nil)
		j.Connection = state
		if err := j.check(); !errors.As(err, new(unsupportedError)) {
			t.Errorf("%s: %v", state, err)
		}
	}
}

// middlebox passes TCP on to a server of the loopback, and of UDP no more than a number of packets to the client. It
// returns the port that it listens on.
func middlebox(t *testing.T, behind uint16, packets int32) uint16 {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port := splitAddress(listener.Addr())
	inner, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
	if err != nil {
		t.Fatal(err)
	}
	outer, err := net.DialUDP("udp", nil, &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: int(behind)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _, _ = listener.Close(), inner.Close(), outer.Close() })
	var client atomic.Value
	go func() {
		buffer := make([]byte, 65536)
		for {
			n, from, err := inner.ReadFromUDP(buffer)
			if err != nil {
				return
			}
			client.Store(from)
			_, _ = outer.Write(buffer[:n])
		}
	}()
	go func() {
		buffer := make([]byte, 65536)
		for passed := int32(0); ; passed++ {
			n, err := outer.Read(buffer)
			if err != nil {
				return
			}
			if to, known := client.Load().(*net.UDPAddr); known && passed < packets {
				_, _ = inner.WriteToUDP(buffer[:n], to)
			}
		}
	}()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			onward, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(behind))))
			if err != nil {
				_ = conn.Close()
				continue
			}
			go func() { _, _ = io.Copy(onward, conn); _ = onward.Close() }()
			go func() { _, _ = io.Copy(conn, onward); _ = conn.Close() }()
		}
	}()
	return uint16(port)
}
