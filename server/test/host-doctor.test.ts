import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { freePorts } from '../../e2e/harness/ports.ts'
import { readConfig } from '../src/config.ts'
import { diagnose, isHealthy } from '../src/host/doctor/diagnose.ts'
import { isAtLeast, type Host } from '../src/host/doctor/check.ts'
import { previewChecks } from '../src/host/doctor/previews.ts'

const noPorts = { COMPUTER_API_PORT: '0', COMPUTER_GATEWAY_PORT: '0', COMPUTER_METRICS_PORT: '0' }
const config = readConfig(noPorts)

const files: Readonly<Record<string, string>> = {
  '/proc/sys/kernel/osrelease': '6.12.5-amd64\n',
  '/proc/sys/user/max_user_namespaces': '90000\n',
  '/proc/cgroups': '#subsys_name\thierarchy\tnum_cgroups\tenabled\nmemory\t0\t1\t1\n',
  '/sys/fs/cgroup/cgroup.controllers': 'cpuset cpu io memory pids\n',
  '/etc/subuid': 'someone:100000:65536\nroot:1000000:1000000000\n',
  '/etc/subgid': 'root:1000000:1000000000\n',
  '/proc/sys/fs/inotify/max_user_instances': '128\n',
  '/proc/sys/fs/file-max': '9223372036854775807\n',
  '/proc/sys/net/ipv4/ip_forward': '0\n',
  '/sys/module/apparmor/parameters/enabled': 'Y\n',
  '/proc/misc': '229 fuse\n',
  '/proc/self/status': 'CapEff:\t000001ffffffffff\n',
  '/proc/filesystems': 'nodev\tsysfs\n\tbtrfs\n',
}

const programs: Readonly<Record<string, string | null>> = {
  'btrfs --version': 'btrfs-progs v6.14',
  '/usr/libexec/incus/incusd --version': '6.0.4',
  'dpkg-query -W -f ${Version} incus-base': '6.0.4-2+deb13u10',
}

test('a good host has no findings', async () => {
  assert.deepEqual(await findings({}, {}), {})
})

test('missing features are reported with a remedy', async () => {
  const cases = [
    ['kernel', 'fail', { '/proc/sys/kernel/osrelease': '5.10.0-28-amd64' }],
    ['kernel', 'warn', { '/proc/sys/kernel/osrelease': '6.1.0-28-amd64' }],
    ['user namespaces', 'fail', { '/proc/sys/user/max_user_namespaces': '0' }],
    ['cgroups', 'fail', { '/sys/fs/cgroup/cgroup.controllers': 'cpu memory' }],
    ['user ids', 'fail', { '/etc/subgid': 'root:100000:65536' }],
    ['kernel limits', 'warn', { '/proc/self/status': 'CapEff:\t000001fffeffffff\n' }],
    ['AppArmor', 'warn', { '/sys/module/apparmor/parameters/enabled': 'N' }],
    ['virtual sockets', 'warn', { '/proc/misc': '258 vsock', '/proc/sys/abi/vsyscall32': '1' }],
  ] as const
  for (const [name, status, changed] of cases) {
    assert.deepEqual(await findings(changed, {}), { [name]: status }, JSON.stringify(changed))
  }
})

test('missing or old programs are reported with a remedy', async () => {
  const incus = '/usr/libexec/incus/incusd --version'
  const cases = [
    ['btrfs', 'fail', { 'btrfs --version': null }],
    ['btrfs', 'fail', { 'btrfs --version': 'btrfs-progs v6.2' }],
    ['engine', 'fail', { [incus]: null }],
    ['engine', 'fail', { [incus]: '5.21.1' }],
    ['engine', 'warn', { 'dpkg --compare-versions': null }],
    ['engine tools', 'fail', { 'sh -c command -v "$1" sh newuidmap': null }],
    ['lxcfs', 'fail', { 'lxcfs --version': null }],
    ['AppArmor', 'warn', { 'sh -c command -v apparmor_parser': null }],
    ['kernel limits', 'warn', { 'test -w /proc/sys/fs/inotify/max_user_instances': null }],
    ['bridge filters', 'fail', { 'modprobe -n br_netfilter': null }],
    ['forwarding', 'warn', { 'iptables -S FORWARD': '-P FORWARD DROP' }],
  ] as const
  for (const [name, status, changed] of cases) {
    assert.deepEqual(await findings({}, changed), { [name]: status }, JSON.stringify(changed))
  }
})

test('cgroup v1 is reported with a remedy', async () => {
  const changed = {
    '/sys/fs/cgroup/cgroup.controllers': '',
    '/proc/cgroups': ['memory', 'pids', 'cpu', 'cpuset']
      .map((name) => `${name}\t5\t1\t1`)
      .join('\n'),
  }
  assert.deepEqual(await findings(changed, {}), { 'cgroup version': 'warn' })
})

test('32-bit programs that the kernel does not run open no virtual sockets', async () => {
  const changed = {
    '/proc/misc': '258 vsock',
    '/proc/sys/abi/vsyscall32': '1',
    '/proc/cmdline': 'quiet ia32_emulation=0\n',
  }
  assert.deepEqual(await findings(changed, {}), {})
})

test('a preview domain of the same site as the service is reported', async () => {
  const [check] = previewChecks
  const statusOf = async (domain: string, baseUrl: string, dashboardUrl = baseUrl) => {
    const { status, message } = await check!.run(
      { read: async () => null, run: async () => null },
      readConfig({
        COMPUTER_PREVIEW_DOMAIN: domain,
        COMPUTER_PREVIEW_CERT: '/c',
        COMPUTER_PREVIEW_KEY: '/k',
        COMPUTER_BASE_URL: baseUrl,
        COMPUTER_DASHBOARD_URL: dashboardUrl,
      }),
    )
    if (status === 'warn') assert.match(message, /same site \(example\./)
    return status
  }
  assert.equal(await statusOf('preview.example.com', 'https://app.example.com'), 'warn')
  assert.equal(await statusOf('preview.example.com', 'https://example.com'), 'warn')
  assert.equal(await statusOf('preview.example.co.uk', 'https://example.co.uk'), 'warn')
  const dashboard = 'https://dash.example.com'
  assert.equal(await statusOf('preview.example.com', 'https://api.test', dashboard), 'warn')
  assert.equal(await statusOf('previews.co.uk', 'https://computer.co.uk'), 'ok')
  assert.equal(await statusOf('preview.example.net', 'https://app.example.com'), 'ok')
  assert.equal(await statusOf('localhost', 'http://127.0.0.1:7080'), 'ok')
  assert.equal(await statusOf('localhost', 'http://localhost:7080'), 'ok')
  const none = await check!.run({ read: async () => null, run: async () => null }, config)
  assert.equal(none.status, 'ok')
})

test('an external engine needs nothing from this host', async () => {
  const external = {
    ...config,
    engine: { url: 'https://engine', cert: 'c', key: 'k', serverCert: null },
  }
  const host: Host = { read: async () => null, run: async () => null }
  const diagnoses = await diagnose(external, { quickOnly: true, host })
  assert.ok(isHealthy(diagnoses))
  assert.deepEqual(diagnoses.map(({ name }) => name).sort(), ['disk', 'ports'])
})

test('a port of the metrics that is taken is a warning', async (t) => {
  const first = await freePorts(3)
  const other = createServer().listen(first + 1, '127.0.0.1')
  t.after(() => other.close())
  await once(other, 'listening')
  const [ports] = (await diagnose({ ...config, metricsPort: first })).filter(
    ({ name }) => name === 'ports',
  )
  assert.equal(ports!.status, 'warn')
  assert.match(ports!.message, new RegExp(`cannot serve metrics on 127\\.0\\.0\\.1:${first + 1}`))
})

test('versions compare by number', () => {
  assert.ok(isAtLeast('6.12.1-amd64', '6.7'))
  assert.ok(isAtLeast('6.7', '6.7'))
  assert.ok(!isAtLeast('6.6.99', '6.7'))
  assert.ok(!isAtLeast('unknown', '5.15'))
})

/** The findings on a host that differs from a good one in these files and programs. */
async function findings(
  changedFiles: Readonly<Record<string, string>>,
  changedPrograms: Readonly<Record<string, string | null>>,
): Promise<Record<string, string>> {
  const known = { ...programs, ...changedPrograms }
  const host: Host = {
    read: async (path) => ({ ...files, ...changedFiles })[path] ?? null,
    async run(...call) {
      const key = Object.keys(known).find((prefix) => call.join(' ').startsWith(prefix))
      return key ? known[key]! : 'fine'
    },
  }
  const diagnoses = await diagnose(config, { host })
  const bad = diagnoses.filter(({ name, status }) => status !== 'ok' && !dependsOnHere.has(name))
  for (const { name, remedy } of bad) assert.ok(remedy, name)
  return Object.fromEntries(bad.map(({ name, status }) => [name, status]))
}

/** These checks depend on the host that runs the tests. */
const dependsOnHere = new Set([
  'root',
  'loop devices',
  'disk',
  'memory',
  'ports',
  'machine network',
  'name resolution',
])
