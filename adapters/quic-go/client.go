package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

const primePath = "/prime"

// dialing is what it takes to open one connection.
type dialing struct {
	protocol string
	remote   *net.UDPAddr
	security *tls.Config
	settings *settings
	start    int64  // when the connection was asked for
	primes   bool   // it only obtains a session ticket
	early    bool   // send requests as early data
	from     net.IP // our address; nil: the kernel chooses
}

// A connection carries any number of requests at once. It never opens another one.
type connection interface {
	roundTrip(*http.Request) (*http.Response, error)
	local() string // "ip:port"
	close()
}

func (d dialing) open(ctx context.Context) (connection, error) {
	switch d.protocol {
	case protocolEither:
		return race(ctx, d)
	case protocolH3:
		return dialH3(ctx, d)
	case protocolHQ:
		return dialHQ(ctx, d)
	default:
		return dialH2(ctx, d)
	}
}

// over is the same for a connection of one protocol alone, asked for now.
func (d dialing) over(protocol string) dialing {
	d.protocol, d.start = protocol, now()
	d.security = d.security.Clone()
	d.security.NextProtos = []string{protocol}
	return d
}

// runClient does a job; its error means only that something did not arrive, the lines report what.
func runClient(j *job) error {
	texts, err := j.knobs()
	if err != nil {
		return err
	}
	s, err := newSettings(j.Protocol, texts, fetching)
	if err != nil {
		return err
	}
	security, err := clientTLS(j.Identity.Host, j.Identity.CA, j.Protocol)
	if err != nil {
		return err
	}
	defer finishQlogs(time.Second)
	ctx, cancel := withLimit(j.timeout())
	defer cancel()
	d := dialing{protocol: j.Protocol, remote: j.remote(), security: security, settings: s}
	site := "https://" + hostPort(j.Identity.Host, int(j.Port))
	if j.Connection != connectionCold {
		tickets := newTicketCache()
		security.ClientSessionCache = tickets
		if err := prime(ctx, d, tickets, site); err != nil {
			for i := 0; i < j.Connections; i++ {
				reportAll(j.Phases, site, fmt.Errorf("priming connection: %w", err))
			}
			return errReported
		}
	}
	if j.Live != nil {
		return view(ctx, d, j)
	}
	d.early = j.Connection == connection0RTT
	if j.Video != nil {
		return play(ctx, d, site, j)
	}
	return fetchOverAll(withPriorities(withUploads(ctx, j.Uploads), j.Priorities), d, site, j)
}

// fetchOverAll opens the job's connections at the same moment; each fetches everything, independently of the others.
func fetchOverAll(ctx context.Context, d dialing, site string, j *job) error {
	each := make([]dialing, j.Connections)
	for i := range each {
		own, err := ofOneConnection(d.security, d.early)
		if err != nil {
			return err
		}
		each[i] = d
		each[i].security = own
	}
	complete := allOf(len(each), func(i int) bool {
		return fetchAll(ctx, each[i], site, j) == nil // it has reported what did not arrive
	})
	if !complete {
		return errReported
	}
	return nil
}

// allOf does `count` things at once, and returns whether all of them succeeded.
func allOf(count int, do func(int) bool) bool {
	var failures int32
	var all sync.WaitGroup
	all.Add(count)
	for i := 0; i < count; i++ {
		go func(i int) {
			defer all.Done()
			if !do(i) {
				atomic.AddInt32(&failures, 1)
			}
		}(i)
	}
	all.Wait()
	return failures == 0
}

// prime obtains a session ticket on a connection of its own, and closes it properly.
func prime(ctx context.Context, d dialing, tickets *ticketCache, site string) error {
	d.primes, d.start = true, now()
	conn, err := d.open(ctx)
	if err != nil {
		return reason(ctx, err)
	}
	defer conn.close()
	fetched := fetch(ctx, conn, site, primePath, now())
	if fetched.Error != nil {
		return errors.New(*fetched.Error)
	}
	select {
	case <-tickets.here:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("no session ticket: %w", reason(ctx, ctx.Err()))
	}
}

// fetchAll fetches the phases one after another on one connection, the paths of a phase all at once, and waits between.
func fetchAll(ctx context.Context, d dialing, site string, j *job) error {
	d.start = now()
	conn, err := d.open(ctx)
	if err != nil {
		reportAll(j.Phases, site, reason(ctx, err))
		return errReported
	}
	if conn, err = withMoves(ctx, conn, d, j.SecondAddress); err != nil {
		reportAll(j.Phases, site, err)
		return errReported
	}
	defer conn.close()
	start, complete := d.start, true
	for i, paths := range j.Phases {
		if wait := j.wait(i); wait > 0 {
			if err := pause(ctx, wait); err != nil {
				reportAll(j.Phases[i:], site, reason(ctx, err))
				return errReported
			}
			start = now()
		}
		if !fetchPhase(ctx, conn, site, paths, start) {
			complete = false
		}
		start = now()
	}
	if !complete {
		return errReported
	}
	return nil
}

// pause does nothing for a time, or until the context ends, whose error it returns.
func pause(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func fetchPhase(ctx context.Context, conn connection, site string, paths []string, start int64) bool {
	return allOf(len(paths), func(i int) bool {
		line := fetch(ctx, conn, site, paths[i], start)
		emit(line)
		return line.Error == nil
	})
}

// reportAll prints a failed object for every path: nothing could be requested.
func reportAll(phases [][]string, site string, err error) {
	text, start := err.Error(), now()
	for _, paths := range phases {
		for _, path := range paths {
			emit(objectLine{Event: "object", URL: site + path, Path: path, TStartNs: start, Error: &text})
		}
	}
}

type limitKey struct{}

// withLimit is a context that ends after a time, which reason then names.
func withLimit(limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithValue(context.Background(), limitKey{}, limit), limit)
}

// reason prefers the time limit of withLimit to what that limit made fail.
func reason(ctx context.Context, err error) error {
	limit, limited := ctx.Value(limitKey{}).(time.Duration)
	if ctx.Err() == nil || !limited {
		return err
	}
	return fmt.Errorf("not done within %g s", limit.Seconds())
}

// socketTowards opens a UDP socket on the address that the kernel would send from.
func socketTowards(remote *net.UDPAddr) (*net.UDPConn, error) {
	probe, err := net.DialUDP("udp", nil, remote) // sends nothing
	if err != nil {
		return nil, err
	}
	local := probe.LocalAddr().(*net.UDPAddr)
	if err := probe.Close(); err != nil {
		return nil, err
	}
	return net.ListenUDP("udp", &net.UDPAddr{IP: local.IP, Zone: local.Zone})
}
