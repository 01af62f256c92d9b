package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"syscall"
	"time"
)

// helloEvery is how often the client sends a hello until data arrives: rarely enough for any round trip.
const helloEvery = 200 * time.Millisecond

type job struct {
	Protocol    string                     `json:"protocol"`
	Connection  string                     `json:"connection"`
	Connections int                        `json:"connections"`
	Address     string                     `json:"address"`
	Port        int                        `json:"port"`
	Knobs       map[string]json.RawMessage `json:"knobs"`
	TimeoutS    float64                    `json:"timeout_s"`
}

func readJob(path string) (job, error) {
	var read job
	text, err := os.ReadFile(path)
	if err != nil {
		return read, usageError{err}
	}
	if err := json.Unmarshal(text, &read); err != nil {
		return read, usageError{fmt.Errorf("%s: %w", path, err)}
	}
	return read, read.check()
}

func (j job) check() error {
	knobs := make([]string, 0, len(j.Knobs))
	for name := range j.Knobs {
		knobs = append(knobs, name)
	}
	slices.Sort(knobs)
	switch {
	case j.Protocol != protocol:
		return unsupportedError{fmt.Errorf("protocol %q", j.Protocol)}
	case j.Connection != "cold":
		return unsupportedError{fmt.Errorf("connection %q", j.Connection)}
	case j.Connections > 1:
		return unsupportedError{errors.New("several connections")}
	case len(knobs) > 0:
		return unsupportedError{fmt.Errorf("knob %q", knobs[0])}
	case net.ParseIP(j.Address) == nil || j.Port < 1 || j.Port > 65535 || j.TimeoutS <= 0:
		return usageError{errors.New("address, port or timeout_s of the job is missing or wrong")}
	}
	return nil
}

// receive takes datagrams until the job's time is over. It fails where none ever arrived.
func receive(order job) error {
	began := now()
	end := time.Now().Add(time.Duration(order.TimeoutS * float64(time.Second)))
	socket, err := net.DialUDP("udp4", nil, &net.UDPAddr{IP: net.ParseIP(order.Address), Port: order.Port})
	if err != nil {
		return err
	}
	came, err := greet(socket, end)
	if err != nil {
		return err
	}
	if !came {
		return fmt.Errorf("nothing arrived from %s within %g s", socket.RemoteAddr(), order.TimeoutS)
	}
	local, remote := socket.LocalAddr().String(), socket.RemoteAddr().String()
	emit(connectionLine{Event: "connection", Protocol: protocol, Local: local, Remote: remote, TStartNs: began, THandshakeNs: now()})
	for {
		if came, err := awaitDatagram(socket, end); !came {
			return err
		}
	}
}

// greet sends hellos until data arrives, and returns whether it arrived before the end.
func greet(socket *net.UDPConn, end time.Time) (bool, error) {
	for time.Now().Before(end) {
		if _, err := socket.Write([]byte("hello")); err != nil && !refused(err) {
			return false, err
		}
		until := time.Now().Add(helloEvery)
		came, err := awaitDatagram(socket, until)
		if came || err != nil {
			return came, err
		}
		time.Sleep(time.Until(until)) // it may have been refused at once
	}
	return false, nil
}

// awaitDatagram returns whether a datagram arrived in time. A refusal by the other end, where no server listens (any more),
// counts as silence.
func awaitDatagram(socket *net.UDPConn, until time.Time) (bool, error) {
	if err := socket.SetReadDeadline(until); err != nil {
		return false, err
	}
	_, err := socket.Read(make([]byte, 1))
	if errors.Is(err, os.ErrDeadlineExceeded) || refused(err) {
		return false, nil
	}
	return err == nil, err
}

func refused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }
