package main

// alpnH3 is what a client calls HTTP/3: draft 29, which these versions prefer.
const alpnH3 = "h3-29"
