"""What plays a video in a browser's page, for drivers of browsers: the page, the players' scripts, and the lines."""
