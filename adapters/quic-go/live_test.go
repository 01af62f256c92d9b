package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

const testFrames = 30

func liveJob(protocol string, port uint16, authority string) *job {
	j := jobFor(protocol, connectionCold, port, authority, 1)
	j.Phases = nil
	j.Live = &sourceJob{
		Frames: testFrames, IntervalNs: int64(10 * time.Millisecond), FrameBytes: 5000, KeyFrameBytes: 40_000, KeyFrameEvery: 10,
		DrainNs: int64(time.Second),
	}
	return j
}

// seen is what both ends printed of a source.
type seen struct {
	live    liveLine
	source  sourceLine
	latency []*int64
}

// viewed views a source over the loopback; `change` may alter the job.
func viewed(t *testing.T, protocol string, knobs map[string]interface{}, change func(*job)) (seen, error) {
	t.Helper()
	port, authority := serveFile(t, protocol)
	j := liveJob(protocol, port, authority)
	j.Knobs = knobs
	if change != nil {
		change(j)
	}
	var found seen
	file, err := printedTo(t, func() error {
		failed := runClient(j)
		time.Sleep(50 * time.Millisecond) // the server, which is in this process, prints its line when it pleases
		return failed
	})
	text, failed := os.ReadFile(file)
	if failed != nil {
		t.Fatal(failed)
	}
	for each := range strings.Lines(string(text)) {
		var line struct{ Event string }
		var frames framesLine
		for _, into := range []interface{}{&line} {
			if err := json.Unmarshal([]byte(each), into); err != nil {
				t.Fatal(err)
			}
		}
		switch line.Event {
		case "live":
			_ = json.Unmarshal([]byte(each), &found.live)
		case "source":
			_ = json.Unmarshal([]byte(each), &found.source)
		case "frames":
			_ = json.Unmarshal([]byte(each), &frames)
			found.latency = append(found.latency, frames.LatencyNs...)
		}
	}
	return found, err
}

var carriers = []struct{ protocol, carrier string }{
	{protocolQUICLive, carrierStreams}, {protocolQUICLive, carrierOne}, {protocolQUICLive, carrierDatagrams},
	{protocolTLSLive, ""}, {protocolUDPLive, ""},
}

func TestEveryFrameArrivesWithItsBytes(t *testing.T) {
	for _, c := range carriers {
		t.Run(c.protocol+" "+c.carrier, func(t *testing.T) {
			var knobs map[string]interface{}
			if c.carrier != "" {
				knobs = map[string]interface{}{"carrier": c.carrier}
			}
			found, err := viewed(t, c.protocol, knobs, nil)
			if err != nil || found.live.Error != nil {
				t.Fatal(err, found.live)
			}
			var digests [][sha256.Size]byte
			bytes := int64(0)
			for frame := range testFrames {
				size := 5000
				if frame%10 == 0 {
					size = 40_000
				}
				digest := sha256.New()
				_, _ = io.CopyN(digest, frameContent(frame), int64(size))
				digests, bytes = append(digests, [sha256.Size]byte(digest.Sum(nil))), bytes+int64(size)
			}
			want := digestOfDigests(digests)
			live, source := found.live, found.source
			if live.Completed != testFrames || live.Bytes != bytes || live.Digest != "sha256:"+hex.EncodeToString(want[:]) {
				t.Errorf("the client: %+v", live)
			}
			if source.Sent != testFrames || source.Bytes != bytes || source.Error != nil || source.Reset+source.Dropped != 0 {
				t.Errorf("the server: %+v", source)
			}
			if *live.TSourceNs != source.TStartNs || len(found.latency) != testFrames {
				t.Errorf("%d frames since %d, by the server since %d", len(found.latency), *live.TSourceNs, source.TStartNs)
			}
			for frame, each := range found.latency {
				if each == nil || *each < 0 || *each > int64(time.Second) {
					t.Errorf("frame %d: %v", frame, each)
				}
			}
		})
	}
}

func TestAFrameThatIsTooOldIsGivenUp(t *testing.T) {
	for _, carrier := range []string{carrierStreams, carrierDatagrams} {
		t.Run(carrier, func(t *testing.T) {
			found, err := viewed(t, protocolQUICLive, map[string]interface{}{"carrier": carrier}, func(j *job) {
				j.Live.FrameBytes, j.Live.KeyFrameEvery, j.Live.DropAfterNs = 10_000_000, 0, int64(20*time.Millisecond)
			})
			if err != nil {
				t.Fatal(err, *found.live.Error)
			}
			source := found.source
			if source.Frames != testFrames || source.Sent+source.Reset+source.Dropped != testFrames || source.Reset+source.Dropped == 0 {
				t.Errorf("the server: %+v", source)
			}
			if found.live.Completed > source.Sent {
				t.Errorf("%d frames arrived whole, %d were sent", found.live.Completed, source.Sent)
			}
		})
	}
}

func TestOneStreamFallsBehindUntilTheEndAndNoFurther(t *testing.T) {
	for _, protocol := range []string{protocolQUICLive, protocolTLSLive} {
		t.Run(protocol, func(t *testing.T) {
			knobs := map[string]interface{}{}
			if protocol == protocolQUICLive {
				knobs["carrier"] = carrierOne
			}
			begun := time.Now()
			found, err := viewed(t, protocol, knobs, func(j *job) {
				j.Live.FrameBytes, j.Live.KeyFrameEvery, j.Live.DrainNs = 15_000_000, 0, 0
			})
			if err != nil {
				t.Fatal(err, *found.live.Error)
			}
			if took := time.Since(begun); took > 2*time.Second {
				t.Errorf("it took %s", took)
			}
			if found.live.Completed == testFrames {
				t.Errorf("everything arrived: %+v", found.source)
			}
		})
	}
}

func TestLiveJobsThatAreRefused(t *testing.T) {
	for name, change := range map[string]func(*job){
		"frames":       func(j *job) { j.Live.Frames = 0 },
		"interval_ns":  func(j *job) { j.Live.IntervalNs = int64(time.Hour) },
		"above 0":      func(j *job) { j.Live.FrameBytes = 0 },
		"at most":      func(j *job) { j.Live.FrameBytes = mostFragments*fragmentBytes + 1 },
		"0 or more":    func(j *job) { j.Live.DrainNs = -1 },
		"without live": func(j *job) { j.Live = nil },
		"live with":    func(j *job) { j.Protocol = protocolH3 },
		"nothing else": func(j *job) { j.Phases = [][]string{{"/a"}} },
		`state "0rtt"`: func(j *job) { j.Connection = connection0RTT },
		"no meaning":   func(j *job) { j.Protocol, j.Knobs = protocolTLSLive, map[string]interface{}{"carrier": carrierOne} },
		"neither":      func(j *job) { j.Knobs = map[string]interface{}{"carrier": "pigeons"} },
	} {
		j := liveJob(protocolQUICLive, 443, "ca.pem")
		change(j)
		err := j.check()
		if err == nil {
			err = runClient(j)
		}
		if err == nil || !strings.Contains(err.Error(), name) || !(errors.As(err, new(usageError)) || errors.As(err, new(unsupportedError))) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
