import { ok, warn, type Check } from './check.ts'

/** The checks of what confines machines, beyond the least that a server needs. */
export const isolationChecks: readonly Check[] = [
  {
    name: 'AppArmor',
    concerns: 'engine',
    isSlow: true,
    async run(host) {
      const isOn = (await host.read('/sys/module/apparmor/parameters/enabled'))?.trim() === 'Y'
      if (!isOn) {
        return warn(
          'it is off: a hole in the kernel is then stopped by user namespaces and seccomp alone',
          'Use a kernel with AppArmor (every Debian kernel has it) and boot without apparmor=0.',
        )
      }
      if (await host.run('sh', '-c', 'command -v apparmor_parser')) return ok('confines machines')
      return warn(
        'it is on, but the engine cannot load profiles of machines without apparmor_parser',
        'Run `apt-get install apparmor`, then restart the server.',
      )
    },
  },
  {
    name: 'cgroup version',
    concerns: 'engine',
    isSlow: true,
    async run(host) {
      if (await host.read('/sys/fs/cgroup/cgroup.controllers')) return ok('2')
      return warn(
        '1: the buffers of network connections do not count as memory of their machine',
        'Boot without systemd.unified_cgroup_hierarchy=0, or use a system with cgroup v2.',
      )
    },
  },
  {
    name: 'virtual sockets',
    concerns: 'engine',
    isSlow: true,
    async run(host) {
      const devices = (await host.read('/proc/misc')) ?? ''
      if (!/ vsock$/m.test(devices)) return ok('this host has none')
      const options = (await host.read('/proc/cmdline')) ?? ''
      const runs32Bit = (await host.read('/proc/sys/abi/vsyscall32')) !== null
      if (!runs32Bit || /\bia32_emulation=(0|n|off|false)\b/.test(options)) {
        return ok('closed to machines')
      }
      return warn(
        '32-bit programs in machines can open AF_VSOCK sockets to this host and its hypervisor',
        'Boot with ia32_emulation=0 (Linux 6.7 or later), or do not load the vsock modules.',
      )
    },
  },
]
