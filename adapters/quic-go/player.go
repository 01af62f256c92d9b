package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// errEnded stops what is under way when the viewer has seen enough.
var errEnded = errors.New("the viewer has stopped watching")

const mostWatchS = 86400

// A videoJob is what a player is asked to play, and how (adapters/CONTRACT.md, Video).
type videoJob struct {
	Manifest string  `json:"manifest"`
	Quality  string  `json:"quality"`
	WatchS   float64 `json:"watch_s"`
	StartS   float64 `json:"start_s"`
	ResumeS  float64 `json:"resume_s"`
	BufferS  float64 `json:"buffer_s"`
	LiveS    float64 `json:"live_s"` // 0: all of the video is there
}

func (v *videoJob) check(j *job) error {
	if j.Protocol == protocolEither {
		return unsupportedError{fmt.Errorf("video over %s: the player speaks one protocol", j.Protocol)}
	}
	if !strings.HasPrefix(v.Manifest, "/") || v.Quality == "" {
		return usageError{errors.New("job: video: manifest must be a path and quality must be given")}
	}
	if v.WatchS <= 0 || v.WatchS > mostWatchS || v.WatchS >= j.TimeoutS {
		return usageError{fmt.Errorf("job: video: watch_s is %g: give more than 0 and less than timeout_s, %g", v.WatchS, j.TimeoutS)}
	}
	if v.StartS < 0 || v.ResumeS < 0 || v.BufferS <= 0 || v.StartS > v.BufferS || v.ResumeS > v.BufferS {
		return usageError{fmt.Errorf("job: video: start_s %g and resume_s %g must be 0 to buffer_s, %g", v.StartS, v.ResumeS, v.BufferS)}
	}
	if v.LiveS < 0 || v.LiveS > mostWatchS {
		return usageError{fmt.Errorf("job: video: live_s is %g: give 0 to %d", v.LiveS, mostWatchS)}
	}
	return nil
}

// playing is everything that one play of a video needs.
type playing struct {
	conns    []connection
	site     string
	manifest *manifest
	rule     rule
	state    *playback
	sizes    []sample              // of the segments that have arrived
	produced func(index int) int64 // when a segment is there to be asked for
}

// play watches a video: it fetches the manifest, then segment after segment, each in as many parts as there are
// connections, and keeps account of what the viewer sees. It ends when watch_s are over, or when all has been played.
func play(ctx context.Context, d dialing, site string, j *job) error {
	begin := now()
	d.start = begin
	conns, err := openAll(ctx, d, j.Connections)
	if err != nil {
		reportAll(j.Phases, site, reason(ctx, err))
		return errReported
	}
	defer func() {
		for _, conn := range conns {
			conn.close()
		}
	}()
	text, line := fetchBody(ctx, conns[0], site, j.Video.Manifest, nil, begin)
	emit(line)
	if line.Error != nil {
		return errReported
	}
	m, err := readManifest(text)
	if err != nil {
		return fmt.Errorf("the manifest %s: %w", j.Video.Manifest, err)
	}
	chosen, err := newRule(j.Video.Quality, m, seconds(j.Video.BufferS))
	if err != nil {
		return err
	}
	if room := seconds(j.Video.BufferS) / m.SegmentNs * m.SegmentNs; room < seconds(j.Video.StartS) || room < seconds(j.Video.ResumeS) || room == 0 {
		return usageError{fmt.Errorf("job: video: buffer_s %g holds %g s of whole segments: it would never reach start_s or resume_s", j.Video.BufferS, inSeconds(room))}
	}
	emit(m.line(j.Video))
	p := playing{
		conns: conns, site: site, manifest: m, rule: chosen, state: newPlayback(j.Video, m, begin),
		produced: m.produced(begin, seconds(j.Video.LiveS)),
	}
	end := begin + seconds(j.Video.WatchS)
	watching, stop := context.WithDeadline(ctx, time.Now().Add(time.Duration(end-now())))
	defer stop()
	err = p.watch(watching)
	if watching.Err() != nil && ctx.Err() == nil { // seen enough: what is under way is given up
		p.state.end(end)
		return nil
	}
	if err != nil {
		p.state.end(now())
		return reason(ctx, err)
	}
	return nil
}

func (p *playing) watch(ctx context.Context) error {
	rung := 0
	for index := 0; index < p.manifest.segments(); index++ {
		wait := p.state.untilRoom(now())
		if coming := p.produced(index) - now(); coming > wait {
			wait = coming
		}
		if wait > 0 {
			if err := pause(ctx, time.Duration(wait)); err != nil {
				return err
			}
		}
		p.state.advance(now())
		if p.manifest.beginsSegment(index) {
			rung = p.rule.choose(p.state.buffer(), p.sizes)
		}
		arrived, err := p.fetchSegment(ctx, index, rung)
		if ctx.Err() != nil {
			arrived.TEndNs = nil
			emit(arrived)
			return errEnded
		}
		if err != nil {
			text := fmt.Sprintf("segment %d of %s: %v", index, p.manifest.Rungs[rung].Name, err)
			arrived.Error = &text
			emit(arrived)
			return errors.New(text)
		}
		started := p.state.arrived(*arrived.TEndNs)
		buffer := inSeconds(p.state.buffer())
		arrived.BufferS = &buffer
		emit(arrived)
		if started != nil {
			emit(started)
		}
		p.sizes = append(p.sizes, sample{arrived.Bytes, *arrived.TEndNs - arrived.TStartNs, rung})
	}
	left := p.state.untilPlayed(now())
	if err := pause(ctx, time.Duration(left)); err != nil {
		return err
	}
	p.state.end(now())
	return nil
}

// A manifest lists the rungs of a video, and of each the segments, which repeat until its length is reached. Where a
// segment comes in chunks, they are listed in its place, and segment_ns is the length of one.
type manifest struct {
	LengthNs  int64  `json:"length_ns"`
	SegmentNs int64  `json:"segment_ns"`
	Chunks    int    `json:"chunks"` // of a segment; 0 or 1: it comes whole
	Rungs     []rung `json:"rungs"`
}

type rung struct {
	Name       string    `json:"name"`
	BitrateBps int64     `json:"bitrate_bps"`
	Segments   []segment `json:"segments"`
}

type segment struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
}

func readManifest(text []byte) (*manifest, error) {
	var m manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, err
	}
	if m.SegmentNs <= 0 || m.LengthNs < m.SegmentNs || m.LengthNs%m.SegmentNs != 0 {
		return nil, fmt.Errorf("segments of %d ns in %d ns: a video has whole segments, at least one", m.SegmentNs, m.LengthNs)
	}
	if m.Chunks == 0 {
		m.Chunks = 1
	}
	if m.Chunks < 0 || m.segments()%m.Chunks != 0 {
		return nil, fmt.Errorf("%d chunks, %d of each segment: a video has whole segments", m.segments(), m.Chunks)
	}
	if len(m.Rungs) == 0 {
		return nil, errors.New("it has no rung")
	}
	last := int64(0)
	for _, r := range m.Rungs {
		if r.Name == "" || r.BitrateBps <= last || len(r.Segments) == 0 {
			return nil, fmt.Errorf("rung %q: it needs a name, segments, and a bitrate above that of the rung before", r.Name)
		}
		last = r.BitrateBps
		for _, s := range r.Segments {
			if !strings.HasPrefix(s.Path, "/") || s.Bytes <= 0 {
				return nil, fmt.Errorf("rung %q: segment %q of %d bytes", r.Name, s.Path, s.Bytes)
			}
		}
	}
	return &m, nil
}

func (m *manifest) segments() int { return int(m.LengthNs / m.SegmentNs) }

func (m *manifest) segment(index, rung int) segment {
	own := m.Rungs[rung].Segments
	return own[index%len(own)]
}

// beginsSegment says whether the rung may change before it: chunks of one segment have the same.
func (m *manifest) beginsSegment(index int) bool { return index%m.Chunks == 0 }

// produced returns when each segment, or chunk, is there to be asked for: of a live video it is complete on the server
// as much later as it is long, and `live` of the video was there when the play began. A video of 0 is there as a whole.
func (m *manifest) produced(begin, live int64) func(index int) int64 {
	return func(index int) int64 {
		if live == 0 {
			return begin
		}
		return begin + int64(index+1)*m.SegmentNs - live
	}
}

func (m *manifest) line(v *videoJob) videoLine {
	line := videoLine{
		Event: "video", Quality: v.Quality, LengthS: inSeconds(m.LengthNs), SegmentS: inSeconds(m.SegmentNs), LiveS: v.LiveS,
	}
	for _, r := range m.Rungs {
		line.Rungs = append(line.Rungs, rungLine{r.Name, r.BitrateBps})
	}
	return line
}

func seconds(s float64) int64 { return int64(s*1e9 + 0.5) }

func inSeconds(ns int64) float64 { return float64(ns) / 1e9 }
