package main

// alpnH3 is what a client calls HTTP/3: draft 27.
const alpnH3 = "h3-27"
