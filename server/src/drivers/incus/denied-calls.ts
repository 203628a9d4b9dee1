/*
 * Calls to the kernel that machines are refused, in addition to the engine's own list (loading modules
 * and kernels, opening files by handle). Lines of LXC's seccomp policy, for native and 32-bit programs.
 * docs/decisions/0016 has what stays open and why.
 */
const allBits = '0xffffffff'

/**
 * A subvolume made inside a machine would not count toward its disk. Creating one, snapshotting and
 * the second forms of both are refused; the mask keeps dirty upper bits from slipping through.
 */
const subvolumes = [0x5000940e, 0x50009418, 0x50009401, 0x50009417].map(
  (call) => `ioctl errno 1 [1,0x${call.toString(16)},SCMP_CMP_MASKED_EQ,${allBits}]`,
)

/**
 * Families of sockets other than these five have no use in a desktop. Some load a rarely used module,
 * and those of virtual machines (AF_VSOCK, 40) lead past the network to the host and its hypervisor.
 */
const openFamilies: readonly number[] = [1 /* UNIX */, 2, 10 /* INET6 */, 16 /* NETLINK */, 17]
const lastFamily = 45
const families = Array.from({ length: lastFamily }, (_, index) => index + 1)
  .filter((family) => !openFamilies.includes(family))
  .map((family) => `socket errno 97 [0,${family},SCMP_CMP_MASKED_EQ,${allBits}]`)

/**
 * Large parts of the kernel with a history of holes, which container engines refuse by default. ENOSYS
 * (38) where programs then fall back to other calls, EPERM (1) where they report it.
 */
const calls = {
  io_uring_setup: 38,
  io_uring_enter: 38,
  io_uring_register: 38,
  add_key: 38,
  request_key: 38,
  keyctl: 38,
  userfaultfd: 1,
  bpf: 1,
  perf_event_open: 1,
}

export const deniedCallsKey = 'security.syscalls.deny'
export const deniedCalls = [
  '[all]',
  ...subvolumes,
  ...families,
  ...Object.entries(calls).map(([name, errno]) => `${name} errno ${errno}`),
].join('\n')
