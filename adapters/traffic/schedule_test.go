package main

import (
	"math"
	"slices"
	"testing"
	"time"
)

func made(t *testing.T, seed, flow string, knobs ...string) settings {
	t.Helper()
	s := defaults()
	for at := 0; at < len(knobs); at += 2 {
		if err := s.set(knobs[at], knobs[at+1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.seed(seed, flow); err != nil {
		t.Fatal(err)
	}
	return s
}

func until(s settings, end time.Duration) []time.Duration {
	plan := newSchedule(s)
	var found []time.Duration
	for due := plan.next(); due < end; due = plan.next() {
		found = append(found, due)
	}
	return found
}

func TestConstantTrafficKeepsItsRateToThePacket(t *testing.T) {
	for _, rate := range []string{"7", "3000007", "99999999"} {
		s := defaults()
		s.rateBps, _ = whole(rate, 1, math.MaxInt64)
		plan := newSchedule(s)
		var due time.Duration
		const packets = 1_000_000
		for range packets + 1 {
			due = plan.next()
		}
		exact := float64(packets) * 1228 * 8 * 1e9 / float64(s.rateBps)
		if math.Abs(float64(due)-exact) > 1+exact*1e-15 {
			t.Errorf("at %s bit/s packet %d is due at %d ns, not %.0f", rate, packets, due, exact)
		}
	}
}

func TestFixedPeriodsAlternateAndLoseNothing(t *testing.T) {
	due := until(made(t, "", "", "on", "0.5", "off", "1.5"), 200*time.Second)
	for _, at := range due {
		if at%(2*time.Second) >= 500*time.Millisecond {
			t.Fatalf("a packet is due %v into a period of 2 s", at%(2*time.Second))
		}
	}
	if rate := float64(len(due)) * 1228 * 8 / 200; math.Abs(rate-250_000) > 100 {
		t.Errorf("the mean rate is %.0f bit/s", rate)
	}
}

func TestExponentialPeriodsHaveTheirMeansAndDependOnSeedAndFlow(t *testing.T) {
	knobs := []string{"law", "exponential", "on", "0.2", "off", "0.6"}
	first := until(made(t, "1", "noise", knobs...), 10_000*time.Second)
	if rate := float64(len(first)) * 1228 * 8 / 10_000; math.Abs(rate-250_000) > 10_000 {
		t.Errorf("the mean rate is %.0f bit/s", rate)
	}
	if !slices.Equal(first, until(made(t, "1", "noise", knobs...), 10_000*time.Second)) {
		t.Error("the same seed gives another schedule")
	}
	for _, other := range [][2]string{{"2", "noise"}, {"1", "noise-2"}} {
		if slices.Equal(first[:100], until(made(t, other[0], other[1], knobs...), 100*time.Second)[:100]) {
			t.Errorf("seed %s and flow %s give the same schedule", other[0], other[1])
		}
	}
}

func TestPeriodsOfASeedStayWhatTheyAre(t *testing.T) {
	found := []int64{}
	last := -time.Second
	for _, due := range until(made(t, "42", "noise", "law", "exponential", "off", "1"), 10*time.Second) {
		if due-last > 50*time.Millisecond {
			found = append(found, due.Milliseconds())
		}
		last = due
	}
	if wanted := []int64{0, 3710, 4854, 6140, 6558}; !slices.Equal(found, wanted) {
		t.Errorf("periods begin at %v ms, not %v: every trial with cross traffic changes", found, wanted)
	}
}

func TestValuesOutOfRangeAreBadUsage(t *testing.T) {
	for name, value := range map[string]string{
		"rate": "0", "packet_size": "1473", "on": "0", "off": "NaN", "law": "pareto",
	} {
		s := defaults()
		if _, bad := s.set(name, value).(usageError); !bad {
			t.Errorf("%s=%s is taken", name, value)
		}
	}
}
