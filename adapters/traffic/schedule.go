package main

import (
	"math/rand/v2"
	"time"
)

const headerBytes = 20 + 8 // IPv4 and UDP

// A schedule gives the time when each packet is due, since the first. It depends on the settings alone: the same ones give the
// same schedule, however late its packets are sent.
//
// Packets are evenly spaced in the time that is spent in periods of sending; what is left of an interval at the end of one
// period counts in the next, so that a long run of short periods keeps the rate too.
type schedule struct {
	interval      int64 // ns, whole part
	fraction, per int64 // the rest of an interval is fraction/per ns
	carried       int64 // of that, by now

	on, off  time.Duration
	periodic bool
	random   *rand.Rand // nil: periods of a fixed length

	due      int64 // of the next packet, ns spent in periods of sending
	onUntil  int64 // in the same time, when the current period ends
	silentNs int64 // spent in pauses by then
}

func newSchedule(s settings) *schedule {
	perPacket := (s.packetSize + headerBytes) * 8 * int64(time.Second)
	plan := &schedule{
		interval: perPacket / s.rateBps,
		fraction: perPacket % s.rateBps,
		per:      s.rateBps,
		on:       s.on,
		off:      s.off,
		periodic: s.off > 0,
	}
	if s.law == lawExponential {
		plan.random = s.random
	}
	plan.onUntil = plan.length(plan.on)
	return plan
}

// next returns when the next packet is due.
func (p *schedule) next() time.Duration {
	due := p.due
	p.due += p.interval
	if p.carried += p.fraction; p.carried >= p.per {
		p.carried -= p.per
		p.due++
	}
	for p.periodic && due >= p.onUntil {
		p.silentNs += p.length(p.off)
		p.onUntil += p.length(p.on)
	}
	return time.Duration(due + p.silentNs)
}

// length draws the length of a period.
func (p *schedule) length(mean time.Duration) int64 {
	if p.random == nil {
		return int64(mean)
	}
	return int64(p.random.ExpFloat64() * float64(mean))
}
