// Runs in the page: plays a video with a player that is loaded already, and returns what a viewer saw.
// Times are milliseconds of performance.now(), positions and lengths seconds.
(async (job) => {
  const record = {states: [], bodies: [], manifest: null, manifest_ms: null, error: null};
  const kind = 'video/mp4; codecs="avc1.640028"';
  if (!window.MediaSource || !MediaSource.isTypeSupported(kind)) {
    record.error = `${job.no_decoder} (MediaSource.isTypeSupported says no to ${kind})`;
    return record;
  }
  const video = document.createElement("video");
  video.muted = video.autoplay = true;
  document.body.append(video);

  let buffering = false, moves = false, begun = false, ended = false, leave;
  const over = new Promise((resolve) => { leave = resolve; });
  const note = (state) => record.states.push({state, t_ms: performance.now(), position_s: video.currentTime});
  const end = (error) => {
    if (ended) return;
    ended = true;
    record.error = error;
    note("ended");
    leave();
  };
  // The picture moves where the element has the next frame, and neither the player nor anything else holds it.
  const look = () => {
    if (ended) return;
    if (video.ended) return end(null);
    const now = !video.paused && !video.seeking && video.readyState >= HTMLMediaElement.HAVE_FUTURE_DATA &&
      video.playbackRate > 0 && !buffering;
    if (now === moves) return;
    moves = now;
    note(now ? (begun ? "resumed" : "started") : "stalled");
    begun = true;
  };
  const events = ["playing", "waiting", "canplay", "loadeddata", "pause", "play", "ratechange", "seeking", "seeked",
    "timeupdate", "stalled", "ended"];
  for (const event of events) video.addEventListener(event, look);
  video.addEventListener("error", () => end(`the video element failed: ${video.error && video.error.message}`));
  window.addEventListener("error", (event) => end(`the player threw: ${event.message}`));
  window.addEventListener("unhandledrejection", (event) => end(`the player threw: ${event.reason}`));

  const digests = [];
  const hex = (digest) => Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
  const arrived = (url, data) => {
    const body = {url, t_ms: performance.now(), position_s: video.currentTime, bytes: data.byteLength};
    record.bodies.push(body);
    digests.push(crypto.subtle.digest("SHA-256", data).then((digest) => { body.digest = `sha256:${hex(digest)}`; }));
  };
  let limit = () => {};
  const answer = (url, data) => {
    if (ended || !data) return;
    if (url.endsWith(".mpd")) {
      record.manifest = typeof data === "string" ? data : new TextDecoder().decode(data);
      const parsed = new DOMParser().parseFromString(record.manifest, "text/xml");
      const template = parsed.querySelector("SegmentTemplate");
      if (!template) return;
      const segment_s = Number(template.getAttribute("duration")) / Number(template.getAttribute("timescale") || 1);
      if (job.buffer_s < 2 * segment_s) {
        return end(`a buffer of ${job.buffer_s} s holds less than two segments of ${segment_s} s: make it larger`);
      }
      limit(segment_s);
    } else if (typeof data !== "string") {
      arrived(url, data);
    }
  };

  const starts = {
    "shaka": async () => {
      shaka.polyfill.installAll();
      const player = new shaka.Player();
      const once = {maxAttempts: 1};
      player.configure({
        abr: {enabled: false},
        manifest: {retryParameters: once},
        streaming: {rebufferingGoal: job.start_s, retryParameters: once},
      });
      const failed = (error) => end(`shaka-player: error ${error.code} (category ${error.category}): ` +
        `${JSON.stringify(error.data)} ${error.message || ""}`);
      player.addEventListener("error", (event) => failed(event.detail));
      player.addEventListener("buffering", (event) => { buffering = event.buffering; look(); });
      player.getNetworkingEngine().registerResponseFilter((_, response) => answer(response.uri, response.data));
      // It asks for a segment whenever it holds less than the goal, and holds so much more then.
      limit = (segment_s) => player.configure("streaming.bufferingGoal", job.buffer_s - segment_s);
      await player.attach(video);
      player.load(job.manifest).catch(failed);
      return () => player.destroy();
    },
    "dash.js": async () => {
      const player = dashjs.MediaPlayer().create();
      const rules = {};
      const names = ["throughputRule", "bolaRule", "insufficientBufferRule", "switchHistoryRule", "droppedFramesRule",
        "abandonRequestsRule", "l2ARule", "loLPRule"];
      for (const name of names) rules[name] = {active: name === job.rule};
      const never = {};
      const requests = ["MPD", "XLinkExpansion", "InitializationSegment", "IndexSegment", "MediaSegment",
        "BitstreamSwitchingSegment", "FragmentInfoSegment", "other"];
      for (const name of requests) never[name] = 0;
      player.updateSettings({
        debug: {logLevel: dashjs.Debug.LOG_LEVEL_NONE},
        streaming: {
          utcSynchronization: {enabled: false},
          retryAttempts: never,
          buffer: {
            fastSwitchEnabled: false,
            ...(job.start_s > 0 ? {initialBufferLevel: job.start_s} : {}),
          },
          abr: {rules, autoSwitchBitrate: {video: job.rule !== null}, initialBitrate: {video: 1}},
        },
      });
      const goals = ["bufferTimeDefault", "bufferTimeAtTopQuality", "bufferTimeAtTopQualityLongForm"];
      // It asks for a segment where the goal is above what it will hold with it, so exactly the goal needs a little more.
      const buffer = Object.fromEntries(goals.map((name) => [name, job.buffer_s + 0.001]));
      player.updateSettings({streaming: {buffer}});
      player.on(dashjs.MediaPlayer.events.ERROR, ({error}) => end(`dash.js: error ${error.code}: ${error.message}`));
      player.addResponseInterceptor((response) => {
        answer(response.request.url, response.data);
        return Promise.resolve(response);
      });
      player.initialize(video, job.manifest, true);
      return () => player.destroy();
    },
  };

  setTimeout(() => end(null), job.watch_s * 1000);
  let close = () => {};
  try {
    close = await starts[job.player]();
  } catch (error) {
    end(`${job.player} did not start: ${error}`);
  }
  await over;
  const entry = performance.getEntriesByType("resource").find(({name}) => name === job.manifest);
  record.manifest_ms = entry ? entry.responseStart : null;
  await Promise.all(digests);
  try {
    await close();
  } catch (error) {
    record.error = record.error || `${job.player} did not end: ${error}`;
  }
  return record;
})
