package cli

import (
	"testing"
	"testing/fstest"
)

// TestAvailableMemory reads Linux's figures for a machine and for control groups.
func TestAvailableMemory(t *testing.T) {
	const mib = 1 << 20
	machine := "MemTotal: 9999999 kB\nMemAvailable:    1024000 kB\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"nothing":     {map[string]string{}, 0},
		"the machine": {map[string]string{"proc/meminfo": machine}, 1000 * mib},
		"version 2": {map[string]string{"proc/meminfo": machine, "proc/self/cgroup": "0::/a/b\n",
			"sys/fs/cgroup/a/b/memory.max": "max\n", "sys/fs/cgroup/a/b/memory.current": "1048576\n",
			"sys/fs/cgroup/a/memory.max": "104857600\n", "sys/fs/cgroup/a/memory.current": "41943040\n",
			"sys/fs/cgroup/a/memory.stat": "anon 5\ninactive_file 10485760\n"}, 70 * mib},
		"version 1": {map[string]string{"proc/meminfo": machine, "proc/self/cgroup": "5:cpu:/x\n4:memory:/x\n",
			"sys/fs/cgroup/memory/x/memory.limit_in_bytes": "209715200\n",
			"sys/fs/cgroup/memory/x/memory.usage_in_bytes": "104857600\n"}, 100 * mib},
		"a container": {map[string]string{"proc/meminfo": machine, "proc/self/cgroup": "0::/../outside\n",
			"sys/fs/cgroup/memory.max": "52428800\n", "sys/fs/cgroup/memory.current": "0\n"}, 50 * mib},
		// 0 would admit everything
		"a full container": {map[string]string{"proc/meminfo": machine, "proc/self/cgroup": "0::/\n",
			"sys/fs/cgroup/memory.max": "52428800\n", "sys/fs/cgroup/memory.current": "52428801\n"}, 1},
		"more than the machine": {map[string]string{"proc/meminfo": machine, "proc/self/cgroup": "4:memory:/\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
			"sys/fs/cgroup/memory/memory.usage_in_bytes": "5\n"}, 1000 * mib},
	} {
		root := fstest.MapFS{}
		for path, text := range c.files {
			root[path] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := availableIn(root); got != c.want {
			t.Errorf("%s: %d, not %d", name, got, c.want)
		}
	}
}
