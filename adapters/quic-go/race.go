package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// defaultFallbackDelay is RFC 8305's connection attempt delay (section 5).
const defaultFallbackDelay = 250 * time.Millisecond

// raceKnobs are a client's that chooses between QUIC and TCP.
var raceKnobs = map[string]knob{
	"fallback_delay": {eitherOnly, secondsKnob(func(s *settings, d time.Duration) { s.fallbackDelay = d })},
	"stall_timeout":  {eitherOnly, secondsKnob(func(s *settings, d time.Duration) { s.stallTimeout = d })},
}

// An attempt is one of the two connections that a race begins.
type attempt struct {
	protocol string
	conn     connection
	err      error
}

// race opens a QUIC connection and, if its handshake takes longer than the fallback delay or fails, one over TCP, too.
// The first that is ready carries the load, and the other is given up.
func race(ctx context.Context, d dialing) (connection, error) {
	quicCtx, giveUpQUIC := context.WithCancel(ctx)
	tcpCtx, giveUpTCP := context.WithCancel(ctx)
	ended := make(chan attempt, 2)
	start := func(attemptCtx context.Context, protocol string) {
		conn, err := d.over(protocol).open(attemptCtx)
		ended <- attempt{protocol, conn, err}
	}
	go start(quicCtx, protocolH3)
	wait := time.NewTimer(d.settings.fallbackDelay)
	defer wait.Stop()
	startsTCP, running := wait.C, 1
	beginTCP := func() {
		startsTCP = nil
		running++
		go start(tcpCtx, protocolH2)
	}
	var failures []error
	for {
		select {
		case <-startsTCP:
			beginTCP()
		case done := <-ended:
			running--
			if done.err == nil && done.protocol == protocolH3 {
				giveUpTCP()
				closeLater(ended, running)
				return newQUICFirst(ctx, d, done.conn, giveUpQUIC), nil
			}
			if done.err == nil {
				giveUpQUIC()
				closeLater(ended, running)
				return &tcpSecond{done.conn, giveUpTCP}, nil
			}
			failures = append(failures, fmt.Errorf("%s: %w", done.protocol, done.err))
			if startsTCP != nil {
				beginTCP()
			} else if running == 0 {
				giveUpQUIC()
				giveUpTCP()
				return nil, both(failures)
			}
		}
	}
}

// closeLater closes what an attempt opens that is still running.
func closeLater(ended <-chan attempt, running int) {
	go func() {
		for i := 0; i < running; i++ {
			if late := <-ended; late.err == nil {
				late.conn.close()
			}
		}
	}()
}

func both(failures []error) error {
	if len(failures) == 1 {
		return failures[0]
	}
	return fmt.Errorf("%v; %w", failures[0], failures[1])
}

// tcpSecond is a connection over TCP that was there first.
type tcpSecond struct {
	connection
	leave func()
}

func (c *tcpSecond) close() {
	c.connection.close()
	c.leave()
}

// quicFirst is a QUIC connection that was there first, with TCP to fall back to.
type quicFirst struct {
	connection
	leave   func()
	dialing dialing
	watch   *stallWatch
	job     context.Context

	once   sync.Once
	tcp    connection
	err    error
	closes sync.Once
	closed chan struct{} // the QUIC connection is
}

func newQUICFirst(ctx context.Context, d dialing, conn connection, leave func()) *quicFirst {
	c := &quicFirst{connection: conn, leave: leave, dialing: d, job: ctx, closed: make(chan struct{})}
	c.watch = newStallWatch(ctx, d.settings.stallTimeout, func() { go c.closeQUIC() })
	return c
}

// closeQUIC closes the QUIC connection, once, and returns when it is closed.
func (c *quicFirst) closeQUIC() {
	c.closes.Do(func() {
		c.connection.close()
		c.leave()
		close(c.closed)
	})
	<-c.closed
}

// fallBack returns the connection over TCP, which the first caller opens.
func (c *quicFirst) fallBack() (connection, error) {
	c.once.Do(func() {
		if c.err = c.job.Err(); c.err == nil {
			c.tcp, c.err = c.dialing.over(protocolH2).open(c.job)
		}
	})
	return c.tcp, c.err
}

func (c *quicFirst) close() {
	c.watch.giveUp()
	c.once.Do(func() { c.err = errors.New("closed") })
	if c.tcp != nil {
		c.tcp.close()
	}
	c.closeQUIC()
}

// fetchOrFallBack requests a path over QUIC while that is alive, and again over TCP where no answer arrived whole.
func (c *quicFirst) fetchOrFallBack(site, path string, start int64) objectLine {
	c.watch.begin()
	line := fetchOver(c.watch.alive, c.connection, c.watch, site, path, start)
	c.watch.end()
	if line.Error != nil && c.watch.hasStalled() {
		text := fmt.Sprintf("nothing came for %g s", c.watch.limit.Seconds())
		line.Error = &text
	}
	if line.Error == nil || line.Status != nil && line.TEndNs != nil {
		return line
	}
	tcp, err := c.fallBack()
	if err != nil && c.job.Err() != nil {
		text := reason(c.job, err).Error()
		line.Error = &text
		return line
	}
	if err != nil {
		text := fmt.Sprintf("h3: %s; h2: %v", *line.Error, reason(c.job, err))
		line.Error = &text
		return line
	}
	return fetchOver(c.job, tcp, nil, site, path, start)
}

// A stallWatch ends its context when no data of an answer has arrived for too long while one is awaited. Nil watches
// nothing.
type stallWatch struct {
	alive   context.Context
	giveUp  context.CancelFunc
	stalled func()        // is called when that has happened
	limit   time.Duration // 0: none
	open    int32
	silent  int32 // 1 once it has happened
	lastNs  int64
}

func newStallWatch(ctx context.Context, limit time.Duration, stalled func()) *stallWatch {
	w := &stallWatch{limit: limit, stalled: stalled, lastNs: now()}
	w.alive, w.giveUp = context.WithCancel(ctx)
	if limit > 0 {
		go w.run()
	}
	return w
}

// begin notes a request that waits for an answer, whose time counts from now.
func (w *stallWatch) begin() {
	w.arrived()
	atomic.AddInt32(&w.open, 1)
}

func (w *stallWatch) end() { atomic.AddInt32(&w.open, -1) }

func (w *stallWatch) hasStalled() bool { return atomic.LoadInt32(&w.silent) == 1 }

// arrived notes that something came.
func (w *stallWatch) arrived() {
	if w != nil {
		atomic.StoreInt64(&w.lastNs, now())
	}
}

func (w *stallWatch) run() {
	for {
		wait := w.limit
		if atomic.LoadInt32(&w.open) > 0 {
			wait -= time.Duration(now() - atomic.LoadInt64(&w.lastNs))
		}
		if wait <= 0 {
			atomic.StoreInt32(&w.silent, 1)
			w.giveUp()
			w.stalled()
			return
		}
		if pause(w.alive, wait) != nil {
			return
		}
	}
}
