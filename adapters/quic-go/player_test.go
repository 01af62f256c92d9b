package main

import (
	"strings"
	"testing"
)

const second = int64(1e9)

func played(v videoJob, length, segment int64) (*playback, *[]playLine) {
	lines := &[]playLine{}
	p := newPlayback(&v, &manifest{LengthNs: length * second, SegmentNs: segment * second}, 0)
	p.report = func(line playLine) { *lines = append(*lines, line) }
	return p, lines
}

func TestPlaybackStallsWhenItsBufferIsEmptyAndGoesOnWithEnough(t *testing.T) {
	p, lines := played(videoJob{StartS: 4, ResumeS: 8, BufferS: 30}, 60, 4)
	if started := p.arrived(2 * second); started == nil || started.State != "started" || started.TNs != 2*second {
		t.Fatalf("started: %+v", started)
	}
	if p.arrived(9*second) != nil { // empty since 6 s; 4 s are not enough to go on
		t.Fatal("it went on with less than resume_s")
	}
	resumed := p.arrived(10 * second)
	if resumed == nil || resumed.State != "resumed" || resumed.BufferS != 8 || resumed.PositionS != 4 {
		t.Fatalf("resumed: %+v", resumed)
	}
	p.end(12 * second)
	want := []playLine{
		{Event: "play", State: stateStalled, TNs: 6 * second, PositionS: 4},
		{Event: "play", State: stateEnded, TNs: 12 * second, PositionS: 6, BufferS: 6},
	}
	if len(*lines) != 2 || (*lines)[0] != want[0] || (*lines)[1] != want[1] {
		t.Fatalf("%+v", *lines)
	}
}

func TestASegmentThatArrivesAsTheBufferEndsIsNoStall(t *testing.T) {
	p, lines := played(videoJob{BufferS: 30}, 60, 4)
	p.arrived(0)
	p.arrived(4 * second)
	p.end(5 * second)
	if len(*lines) != 1 || (*lines)[0].PositionS != 5 {
		t.Fatalf("%+v", *lines)
	}
}

func TestPlaybackWaitsForRoomAndEndsWithTheVideo(t *testing.T) {
	p, lines := played(videoJob{StartS: 8, BufferS: 8}, 8, 4)
	p.arrived(second)
	if wait := p.untilRoom(second); wait != 0 { // it does not play yet, so that waiting would make no room
		t.Fatal(wait)
	}
	p.arrived(2 * second)
	if wait := p.untilRoom(3 * second); wait != 3*second {
		t.Fatal(wait)
	}
	p.end(20 * second)
	if len(*lines) != 1 || (*lines)[0].TNs != 10*second || (*lines)[0].PositionS != 8 {
		t.Fatalf("%+v", *lines)
	}
}

var testRungs = []rung{{Name: "a", BitrateBps: 1e6}, {Name: "b", BitrateBps: 2e6}, {Name: "c", BitrateBps: 4e6}}

func TestTheThroughputRuleTakesTheHarmonicMeanOfFiveSegments(t *testing.T) {
	r := throughputRule{testRungs}
	if r.choose(0, nil) != 0 {
		t.Fatal("it begins with the lowest")
	}
	// 1 MB in 1 s and in 7 s: 8 and 1.14 Mbit/s, whose harmonic mean is 2 and whose arithmetic mean is above 4
	if got := r.choose(0, []sample{{1e6, second, 0}, {1e6, 7 * second, 0}}); got != 1 {
		t.Fatal(got)
	}
	old := sample{1, 1000 * second, 0}
	fast := sample{1e6, second, 0}
	if got := r.choose(0, []sample{old, fast, fast, fast, fast, fast}); got != 2 {
		t.Fatal(got)
	}
}

func TestTheBufferRuleFollowsTheLineAndKeepsItsRungBetweenNeighbours(t *testing.T) {
	r := bufferRule{testRungs, float64(240 * second)}
	after := func(rung int) []sample { return []sample{{1, 1, rung}} }
	for _, c := range []struct {
		buffer   int64
		before   int
		expected int
	}{
		{90, 2, 0},  // the reservoir
		{216, 0, 2}, // beyond the cushion
		{120, 0, 0}, // the line has 1.71 Mbit/s: below the next rung, b
		{140, 0, 1}, // 2.19: b
		{140, 1, 1}, // between a and c: as before
		{120, 2, 1}, // 1.71 is below b, so down to the lowest rung above it: b
	} {
		if got := r.choose(c.buffer*second, after(c.before)); got != c.expected {
			t.Errorf("buffer %d s after rung %d: %d, not %d", c.buffer, c.before, got, c.expected)
		}
	}
}

func TestBolaTakesTheLowestRungWithAnEmptyBufferAndTheHighestWithAFullOne(t *testing.T) {
	r := newBola(testRungs, 4*second, 40*second)
	// V = 9 / (ln 4 + 5) = 1.409; scores at Q = 0: 7.05, 8.02 / 2, 9 / 4
	if got := r.choose(0, nil); got != 0 {
		t.Fatal(got)
	}
	// Q = 6.5: 0.55, 1.52 / 2 = 0.76, 2.5 / 4 = 0.62
	if got := r.choose(26*second, nil); got != 1 {
		t.Fatal(got)
	}
	if got := r.choose(36*second, nil); got != 2 {
		t.Fatal(got)
	}
}

func TestAManifestThatCannotBeIsRefused(t *testing.T) {
	for text, problem := range map[string]string{
		`<MPD/>`: "invalid character",
		`{"length_ns": 10, "segment_ns": 4, "rungs": []}`:                                                                         "whole segments",
		`{"length_ns": 8, "segment_ns": 4, "rungs": []}`:                                                                          "no rung",
		`{"length_ns": 8, "segment_ns": 4, "chunks": 3, "rungs": []}`:                                                             "whole segments",
		`{"length_ns": 8, "segment_ns": 4, "chunks": -1, "rungs": []}`:                                                            "whole segments",
		`{"length_ns": 8, "segment_ns": 4, "rungs": [{"name": "a", "bitrate_bps": 1, "segments": []}]}`:                           "needs a name",
		`{"length_ns": 8, "segment_ns": 4, "rungs": [{"name": "a", "bitrate_bps": 1, "segments": [{"path": "/a", "bytes": 0}]}]}`: "of 0 bytes",
	} {
		if _, err := readManifest([]byte(text)); err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestChunksKeepTheRungOfTheirSegmentAndAppearAsTheyAreProduced(t *testing.T) {
	text := `{"length_ns": 8, "segment_ns": 1, "chunks": 4, "rungs": [{"name": "a", "bitrate_bps": 1, "segments": [{"path": "/a", "bytes": 1}]}]}`
	m, err := readManifest([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	begins := []int{}
	for index := 0; index < m.segments(); index++ {
		if m.beginsSegment(index) {
			begins = append(begins, index)
		}
	}
	if len(begins) != 2 || begins[0] != 0 || begins[1] != 4 {
		t.Fatal(begins)
	}
	live, whole := m.produced(100, 3), m.produced(100, 0)
	if live(0) != 98 || live(2) != 100 || live(5) != 103 || whole(5) != 100 {
		t.Fatal(live(0), live(2), live(5), whole(5))
	}
}

func TestAVideoJobIsChecked(t *testing.T) {
	good := videoJob{Manifest: "/m", Quality: "a", WatchS: 10, BufferS: 8}
	j := job{Protocol: protocolH3, TimeoutS: 20}
	if err := good.check(&j); err != nil {
		t.Fatal(err)
	}
	for problem, change := range map[string]func(*videoJob){
		"less than timeout_s": func(v *videoJob) { v.WatchS = 20 },
		"must be a path":      func(v *videoJob) { v.Manifest = "m" },
		"0 to buffer_s":       func(v *videoJob) { v.StartS = 9 },
		"live_s is -1":        func(v *videoJob) { v.LiveS = -1 },
	} {
		bad := good
		change(&bad)
		if err := bad.check(&j); err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%s: %v", problem, err)
		}
	}
	j.Protocol = protocolEither
	if _, unsupported := good.check(&j).(unsupportedError); !unsupported {
		t.Error("h3-or-h2 is not played")
	}
}
