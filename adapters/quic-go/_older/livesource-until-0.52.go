package main

// Live sources are what newer versions have: viewer.go has what stands in for them.
