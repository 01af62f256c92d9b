package main

// videoLine is what the manifest of a video says.
type videoLine struct {
	Event    string     `json:"event"`
	Quality  string     `json:"quality"`
	LengthS  float64    `json:"length_s"`
	SegmentS float64    `json:"segment_s"`
	LiveS    float64    `json:"live_s,omitempty"`
	Rungs    []rungLine `json:"rungs"`
}

type rungLine struct {
	Name       string `json:"name"`
	BitrateBps int64  `json:"bitrate_bps"`
}

// segmentLine is one segment, or chunk of one, that was asked for.
type segmentLine struct {
	Event    string   `json:"event"`
	Index    int      `json:"index"`
	Rung     string   `json:"rung"`
	Path     string   `json:"path"`
	TStartNs int64    `json:"t_start_ns"`
	TEndNs   *int64   `json:"t_end_ns"` // null: it was under way when the viewer stopped
	Bytes    int64    `json:"bytes"`
	Digest   *string  `json:"digest"`
	BufferS  *float64 `json:"buffer_s"` // with it
	Error    *string  `json:"error"`
}

// playLine is a change of what the viewer sees: started, stalled, resumed or ended.
type playLine struct {
	Event     string  `json:"event"`
	State     string  `json:"state"`
	TNs       int64   `json:"t_ns"`
	PositionS float64 `json:"position_s"`
	BufferS   float64 `json:"buffer_s"`
}
