module longlook.example/adapters/quic-go

go 1.14

require (
	github.com/lucas-clemente/quic-go v0.15.7
	golang.org/x/net v0.0.0-20190404232315-eb5bcb51f2a3
	golang.org/x/sys v0.0.0-20200223170610-d5e6a3e2c0ae
)
