package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Usage is what a process has taken so far.
type Usage struct {
	Resident int64         // bytes of memory, now
	Peak     int64         // bytes of memory, at its most
	CPU      time.Duration // of user and system, all threads
}

// tick is the unit of CPU times in /proc: USER_HZ is 100 on all that Linux runs Go on.
const tick = time.Second / 100

// Of tells of any process that may be read. Only Linux tells.
func Of(pid int) (u Usage, err error) {
	folder := "/proc/" + strconv.Itoa(pid)
	status, err := os.ReadFile(folder + "/status")
	if err != nil {
		return u, fmt.Errorf("reading what process %d takes: %w", pid, err)
	}
	for line := range strings.Lines(string(status)) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		kib, _ := strconv.ParseInt(fields[1], 10, 64)
		switch fields[0] {
		case "VmRSS:":
			u.Resident = kib << 10
		case "VmHWM:":
			u.Peak = kib << 10
		}
	}
	stat, err := os.ReadFile(folder + "/stat")
	if err != nil {
		return u, fmt.Errorf("reading what process %d takes: %w", pid, err)
	}
	u.CPU, err = cpu(stat)
	return u, err
}

// cpu reads the 14th and 15th field of a stat file (proc(5)). The second, in
// parentheses, may have anything in it.
func cpu(stat []byte) (time.Duration, error) {
	const first, user, system = 3, 14, 15
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) <= system-first {
		return 0, errors.New("reading CPU times: too few fields")
	}
	var sum int64
	for _, field := range [][]byte{fields[user-first], fields[system-first]} {
		n, err := strconv.ParseInt(string(field), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("reading CPU times: %w", err)
		}
		sum += n
	}
	return time.Duration(sum) * tick, nil
}

// Self tells of this process.
func Self() (Usage, error) { return Of(os.Getpid()) }

// CPUTime is what this process has used so far, user and system, more exactly than
// Self tells.
func CPUTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0 // it fails for wrong arguments only
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
