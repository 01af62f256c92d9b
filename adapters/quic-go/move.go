package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
)

// moveKnobs are a client's that continues from its second address.
var moveKnobs = map[string]knob{
	"move_at":            {movable, moveKnob(func(s *settings, d time.Duration) { s.moveAt = d })},
	"move_after_silence": {movable, moveKnob(func(s *settings, d time.Duration) { s.moveAfterSilence = d })},
}

var movable = []string{protocolH3, protocolH2}

func moveKnob(set func(*settings, time.Duration)) func(*settings, string) error {
	return secondsKnob(func(s *settings, d time.Duration) {
		set(s, d)
		s.moves = true
	})
}

// A mover is a connection that continues once from the client's second address: over QUIC it migrates, over TCP
// another connection is opened there, and what has not arrived whole is requested again.
type mover struct {
	connection
	job     context.Context
	dialing dialing
	second  net.IP
	watch   *stallWatch
	timer   *time.Timer

	once  sync.Once
	moved chan struct{} // closed when next and err are known, or the QUIC connection has migrated, or cannot
	next  connection    // over TCP
	err   error
	leave func()
}

// withMoves is the connection as it moves where the job says so.
func withMoves(ctx context.Context, conn connection, d dialing, second string) (connection, error) {
	if !d.settings.moves {
		return conn, nil
	}
	ip := net.ParseIP(second)
	if ip == nil {
		conn.close()
		return nil, fmt.Errorf("the job has no second_address (%q), which moving needs", second)
	}
	m := &mover{connection: conn, job: ctx, dialing: d, second: ip, moved: make(chan struct{})}
	m.watch = newStallWatch(ctx, d.settings.moveAfterSilence, func() { go m.move() })
	if at := d.settings.moveAt; at > 0 {
		m.timer = time.AfterFunc(at-time.Duration(now()-d.start), m.move)
	}
	return m, nil
}

func (m *mover) move() {
	m.once.Do(func() {
		if over, is := m.connection.(*h3Connection); is {
			m.err = m.migrate(over.conn)
		} else {
			m.watch.giveUp() // whatever waits for the old address
			d := m.dialing.over(m.dialing.protocol)
			d.from = m.second
			m.next, m.err = d.open(m.job)
		}
		if m.err != nil {
			fmt.Fprintln(os.Stderr, "moving:", m.err)
		}
		close(m.moved)
	})
}

// migrate validates the path from the second address, and sends on it from then on (RFC 9000, 9.2).
func (m *mover) migrate(conn *quic.Conn) error {
	select {
	case <-conn.HandshakeComplete():
	case <-conn.Context().Done():
		return context.Cause(conn.Context())
	}
	socket, err := net.ListenUDP("udp", &net.UDPAddr{IP: m.second})
	if err != nil {
		return err
	}
	transport := &quic.Transport{Conn: socket}
	m.leave = func() {
		_ = transport.Close()
		_ = socket.Close()
	}
	line := moveLine{Event: "move", From: conn.LocalAddr().String(), To: socket.LocalAddr().String(), TStart: now()}
	path, err := conn.AddPath(transport)
	if err != nil {
		return err
	}
	probing, stop := context.WithCancel(m.job)
	defer stop()
	defer context.AfterFunc(conn.Context(), stop)()
	if err := path.Probe(probing); err != nil {
		return err
	}
	if err := path.Switch(); err != nil {
		return err
	}
	line.TEnd = now()
	emit(line)
	return nil
}

// fetchMoving requests a path, over TCP again from the second address where the move has cut it off.
func (m *mover) fetchMoving(site, path string, start int64) objectLine {
	m.watch.begin()
	if _, is := m.connection.(*h3Connection); is {
		defer m.watch.end()
		return fetchOver(m.job, m.connection, m.watch, site, path, start)
	}
	line := fetchOver(m.watch.alive, m.connection, m.watch, site, path, start)
	m.watch.end()
	if line.Error == nil || m.watch.alive.Err() == nil {
		return line
	}
	select {
	case <-m.moved:
	case <-m.job.Done():
		m.err = m.job.Err()
	}
	if m.err != nil {
		text := fmt.Sprintf("%s; from %s: %v", *line.Error, m.second, reason(m.job, m.err))
		line.Error = &text
		return line
	}
	return fetchOver(m.job, m.next, nil, site, path, start)
}

func (m *mover) close() {
	if m.timer != nil {
		m.timer.Stop()
	}
	m.watch.giveUp()
	m.once.Do(func() {
		m.err = errors.New("closed")
		close(m.moved)
	})
	if m.next != nil {
		m.next.close()
	}
	m.connection.close()
	if m.leave != nil {
		m.leave()
	}
}

// A moveLine reports that a QUIC connection continues from another address.
type moveLine struct {
	Event  string `json:"event"`
	From   string `json:"from"`
	To     string `json:"to"`
	TStart int64  `json:"t_start_ns"`
	TEnd   int64  `json:"t_end_ns"`
}
