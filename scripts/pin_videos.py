"""Encodes every part of every rung and writes their digests to src/longlook/provision/video_encoding.json.

A quarter of an hour on two cores beside other work. Needed where the encoder, its arguments or the pictures change; a
rung may be named.
"""

import json
import sys

from longlook.provision import LADDER_BPS, LENGTH_S, SEGMENTS_S, Video
from longlook.provision.video_encoding import RECORD, SCENES, make_digests


def main(names: list[str]) -> None:
    """Encode the rungs of `names`, or all, and write their digests beside the others after each."""
    for rung in names or list(LADDER_BPS):
        for bitrate in SCENES:
            for segment_s in SEGMENTS_S:
                video = Video({rung: LADDER_BPS[rung]}, segment_s * 10**9, LENGTH_S * 10**9, bitrate)
                known = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.is_file() else {}
                found = known | make_digests(video)
                RECORD.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
