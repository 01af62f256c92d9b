module longlook.example/adapters/quic-go

go 1.16

require (
	github.com/lucas-clemente/quic-go v0.26.0
	golang.org/x/net v0.0.0-20210428140749-89ef3d95e781
	golang.org/x/sys v0.0.0-20210615035016-665e8c7367d1
)
