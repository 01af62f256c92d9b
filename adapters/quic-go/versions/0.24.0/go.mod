module longlook.example/adapters/quic-go

go 1.16

require (
	github.com/lucas-clemente/quic-go v0.24.0
	golang.org/x/net v0.0.0-20210428140749-89ef3d95e781
	golang.org/x/sys v0.0.0-20210510120138-977fb7262007
)
