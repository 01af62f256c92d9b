module longlook.example/adapters/quic-go

go 1.16

require (
	github.com/lucas-clemente/quic-go v0.20.1
	golang.org/x/net v0.0.0-20200707034311-ab3426394381
	golang.org/x/sys v0.0.0-20201231184435-2d18734c6014
)
