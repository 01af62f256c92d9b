package main

import (
	"fmt"
	"math"
	"strings"
)

// A sample is a segment that has arrived: its bytes, how long it took, and its rung.
type sample struct {
	bytes, ns int64
	rung      int
}

// A rule chooses the rung of the next segment, from the buffer in ns and the segments that have arrived.
type rule interface {
	choose(buffer int64, arrived []sample) int
}

func newRule(quality string, m *manifest, most int64) (rule, error) {
	names := make([]string, len(m.Rungs))
	for i, r := range m.Rungs {
		if r.Name == quality {
			return fixedRule(i), nil
		}
		names[i] = r.Name
	}
	switch quality {
	case "throughput":
		return throughputRule{m.Rungs}, nil
	case "buffer":
		return bufferRule{m.Rungs, float64(most)}, nil
	case "bola":
		return newBola(m.Rungs, m.SegmentNs*int64(m.Chunks), most), nil
	}
	return nil, usageError{fmt.Errorf("job: video: quality %q: give throughput, bola, buffer, or one of %s", quality, strings.Join(names, ", "))}
}

// fixedRule is one rung, whatever happens.
type fixedRule int

func (r fixedRule) choose(int64, []sample) int { return int(r) }

// throughputRule takes the highest rung up to the harmonic mean of what the last five segments came with, and the
// lowest at first: the rate-based rule of Yin et al., SIGCOMM 2015, section 7.
type throughputRule struct{ rungs []rung }

const throughputSamples = 5

func (r throughputRule) choose(_ int64, arrived []sample) int {
	if len(arrived) == 0 {
		return 0
	}
	if len(arrived) > throughputSamples {
		arrived = arrived[len(arrived)-throughputSamples:]
	}
	inverse := 0.0
	for _, s := range arrived {
		inverse += float64(s.ns) / 1e9 / (8 * float64(s.bytes))
	}
	expected, best := float64(len(arrived))/inverse, 0
	for i, one := range r.rungs {
		if float64(one.BitrateBps) <= expected {
			best = i
		}
	}
	return best
}

// bufferRule is BBA-0 of Huang et al., SIGCOMM 2014, algorithm 1: the lowest rung while the buffer is in the reservoir,
// the highest above the cushion, and between them a line from one bitrate to the other. The paper has a reservoir of
// 90 s and a cushion up to 90 % of a buffer of 240 s; here they are the same shares of the largest buffer.
type bufferRule struct {
	rungs []rung
	most  float64
}

const (
	reservoirShare = 90.0 / 240
	cushionShare   = 0.9
)

func (r bufferRule) choose(buffer int64, arrived []sample) int {
	top, before := len(r.rungs)-1, 0
	if len(arrived) > 0 {
		before = arrived[len(arrived)-1].rung
	}
	share := float64(buffer) / r.most
	if share <= reservoirShare {
		return 0
	}
	if share >= cushionShare {
		return top
	}
	lowest, highest := float64(r.rungs[0].BitrateBps), float64(r.rungs[top].BitrateBps)
	mapped := lowest + (highest-lowest)*(share-reservoirShare)/(cushionShare-reservoirShare)
	if before < top && mapped >= float64(r.rungs[before+1].BitrateBps) {
		best := before + 1
		for i := best; i <= top; i++ {
			if float64(r.rungs[i].BitrateBps) < mapped {
				best = i
			}
		}
		return best
	}
	if before > 0 && mapped <= float64(r.rungs[before-1].BitrateBps) {
		for i := range r.rungs {
			if float64(r.rungs[i].BitrateBps) > mapped {
				return i
			}
		}
	}
	return before
}

// bolaRule is BOLA-BASIC of Spiteri et al., INFOCOM 2016: the rung m with the most (V (v_m + γp) - Q) / S_m, where Q is
// the buffer in segments, v_m = ln(S_m / S_1), γp = 5 as in the paper, and V is what keeps Q one segment below the
// largest buffer.
type bolaRule struct {
	segment   float64
	weight    float64 // V
	utilities []float64
	sizes     []float64
}

const bolaGamma = 5.0

func newBola(rungs []rung, segment, most int64) bolaRule {
	r := bolaRule{segment: float64(segment)}
	for _, one := range rungs {
		r.sizes = append(r.sizes, float64(one.BitrateBps))
		r.utilities = append(r.utilities, math.Log(float64(one.BitrateBps)/float64(rungs[0].BitrateBps)))
	}
	r.weight = (float64(most)/r.segment - 1) / (r.utilities[len(rungs)-1] + bolaGamma)
	return r
}

func (r bolaRule) choose(buffer int64, _ []sample) int {
	best, most := 0, math.Inf(-1)
	for i, size := range r.sizes {
		if score := (r.weight*(r.utilities[i]+bolaGamma) - float64(buffer)/r.segment) / size; score > most {
			best, most = i, score
		}
	}
	return best
}
