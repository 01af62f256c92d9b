package main

import (
	"os"
	"syscall"
	"time"
	"unsafe"
)

// An alarm waits to the nanosecond. Timers of Go's runtime come up to a millisecond late, because its poller waits in whole
// milliseconds, and that is many packets at a high rate.
type alarm struct {
	descriptor uintptr
	file       *os.File
}

const clockMonotonic = 1

func newAlarm() (*alarm, error) {
	descriptor, _, failed := syscall.Syscall(syscall.SYS_TIMERFD_CREATE, clockMonotonic, syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if failed != 0 {
		return nil, os.NewSyscallError("timerfd_create", failed)
	}
	return &alarm{descriptor, os.NewFile(descriptor, "alarm")}, nil
}

// wait returns after a time above 0.
func (a *alarm) wait(length time.Duration) error {
	setting := struct{ interval, value syscall.Timespec }{value: syscall.NsecToTimespec(int64(length))}
	_, _, failed := syscall.Syscall6(syscall.SYS_TIMERFD_SETTIME, a.descriptor, 0, uintptr(unsafe.Pointer(&setting)), 0, 0, 0)
	if failed != 0 {
		return os.NewSyscallError("timerfd_settime", failed)
	}
	var expirations [8]byte
	_, err := a.file.Read(expirations[:])
	return err
}
