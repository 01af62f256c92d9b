package main

const (
	stateWaiting = "waiting" // nothing has been shown yet
	statePlaying = "playing"
	stateStalled = "stalled"
	stateEnded   = "ended"
)

// playback is what the viewer sees: a buffer that segments fill and time empties. Times and media times are in ns.
// It keeps no clock: each call says when something happened, and it reports what must have happened before, at its own time.
type playback struct {
	segment, total            int64
	startAt, resumeAt, most   int64 // of buffer
	loaded, position, updated int64
	state                     string
	report                    func(playLine)
}

func newPlayback(v *videoJob, m *manifest, begin int64) *playback {
	return &playback{
		segment: m.SegmentNs, total: m.LengthNs,
		startAt: seconds(v.StartS), resumeAt: seconds(v.ResumeS), most: seconds(v.BufferS),
		updated: begin, state: stateWaiting, report: func(line playLine) { emit(line) },
	}
}

func (p *playback) buffer() int64 { return p.loaded - p.position }

// advance lets time pass until `t`. Where the buffer ran empty before, it says so.
func (p *playback) advance(t int64) {
	if t < p.updated {
		t = p.updated
	}
	if p.state == statePlaying {
		passed := t - p.updated
		if left := p.buffer(); passed > left || left == passed && p.loaded == p.total {
			p.position = p.loaded
			if p.loaded == p.total {
				p.change(stateEnded, p.updated+left)
			} else {
				p.change(stateStalled, p.updated+left)
			}
		} else {
			p.position += passed
		}
	}
	p.updated = t
}

// arrived adds a segment; the line that it returns, if any, says that playing begins or goes on with it.
func (p *playback) arrived(t int64) *playLine {
	p.advance(t)
	p.loaded += p.segment
	all := p.loaded == p.total
	switch {
	case p.state == stateWaiting && (p.buffer() >= p.startAt || all):
		p.state = statePlaying
		return p.line("started", t)
	case p.state == stateStalled && (p.buffer() >= p.resumeAt || all):
		p.state = statePlaying
		return p.line("resumed", t)
	}
	return nil
}

// untilRoom is how long it takes until the buffer has room for a segment.
func (p *playback) untilRoom(t int64) int64 {
	p.advance(t)
	if p.state != statePlaying {
		return 0
	}
	if over := p.buffer() + p.segment - p.most; over > 0 {
		return over
	}
	return 0
}

// untilPlayed is how long it takes until the end of what is loaded.
func (p *playback) untilPlayed(t int64) int64 {
	p.advance(t)
	return p.buffer()
}

// end is when the viewer stops watching, or has seen everything.
func (p *playback) end(t int64) {
	p.advance(t)
	if p.state != stateEnded {
		p.change(stateEnded, p.updated)
	}
}

func (p *playback) change(state string, t int64) {
	p.state = state
	p.report(*p.line(state, t))
}

func (p *playback) line(what string, t int64) *playLine {
	return &playLine{Event: "play", State: what, TNs: t, PositionS: inSeconds(p.position), BufferS: inSeconds(p.buffer())}
}
