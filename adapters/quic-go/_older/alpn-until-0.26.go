package main

// alpnH3 is what a client calls HTTP/3: RFC 9114.
const alpnH3 = "h3"
