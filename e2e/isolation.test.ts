import assert from 'node:assert/strict'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { createIncusDriver } from '../server/src/drivers/incus/driver.ts'
import { nameOf } from '../server/src/drivers/incus/instance.ts'
import { listInstances } from '../server/src/drivers/incus/instances.ts'
import type { MachineDriver, MachineSpec } from '../server/src/drivers/machine-driver.ts'
import { startTestEngine, type TestEngine } from './harness/engine.ts'
import { eventually } from './harness/polling.ts'
import { runInGuest, type GuestResult } from './guest/exec.ts'
import { dnsQuery, listen, subvolumes } from './guest/isolation-probes.ts'

const project = 'isolation'

/** The root user of a machine cannot get out of it. The only targets are this host and its machines. */
describe('a machine is isolated', () => {
  let engine: TestEngine
  let driver: MachineDriver
  let guestDir: string
  let first: MachineSpec
  let second: MachineSpec
  let gateway: string

  before(async () => {
    engine = await startTestEngine()
    guestDir = await mkdtemp(join(tmpdir(), 'computer-guest-'))
    await chmod(guestDir, 0o755)
    await writeFile(join(guestDir, 'agent'), 'today', { mode: 0o644 })
    const options = engine.optionsOf(project)
    driver = createIncusDriver({ ...options, guestDir })
    await driver.prepare()
    await driver.addImage(engine.imageId, engine.imageFiles)
    first = { ...engine.makeSpec(), memoryMb: 1024, diskGb: 1 }
    second = engine.makeSpec()
    for (const spec of [first, second]) {
      await driver.create(spec)
      await driver.start(spec)
      await waitForNetwork(spec)
    }
    const path = `/1.0/networks/${options.network}`
    const { config } = await engine.client.get<{ config: Record<string, string> }>(path)
    gateway = config['ipv4.address']!.split('/')[0]!
  })

  after(async () => {
    await driver?.[Symbol.asyncDispose]()
    await engine?.[Symbol.asyncDispose]()
    if (guestDir) await rm(guestDir, { recursive: true })
  })

  function inGuest(spec: MachineSpec, ...command: string[]): Promise<GuestResult> {
    return runInGuest(engine.client, { project, instance: nameOf(spec) }, command)
  }

  function python(spec: MachineSpec, script: string): Promise<GuestResult> {
    return inGuest(spec, 'python3', '-c', script)
  }

  async function waitForNetwork(spec: MachineSpec): Promise<void> {
    await eventually('the machine has an address', () => addressOf(spec).catch(() => undefined))
  }

  async function addressOf(spec: MachineSpec): Promise<string | undefined> {
    const { stdout } = await inGuest(spec, 'ip', '-4', '-o', 'address', 'show', 'dev', 'eth0')
    return / inet ([0-9.]+)\//.exec(stdout)?.[1]
  }

  /** Resolves to `open` if a TCP connection succeeds, otherwise to the error. */
  async function probe(spec: MachineSpec, address: string, port: number): Promise<string> {
    const { stdout } = await python(
      spec,
      `import socket
try:
    socket.create_connection(('${address}', ${port}), 3).close()
    print('open')
except OSError as error:
    print(error)`,
    )
    return stdout.trim()
  }

  test('its root has no privileges on the host, and no two machines share a uid', async () => {
    const ranges: number[] = []
    for (const spec of [first, second]) {
      const { stdout } = await inGuest(spec, 'cat', '/proc/1/uid_map', '/proc/1/gid_map')
      const rows = stdout.trim().split('\n')
      for (const row of rows) {
        assert.deepEqual(row.trim().split(/\s+/).map(Number), [0, spec.uidBase, 65_536])
      }
      ranges.push(spec.uidBase)
    }
    assert.ok(Math.abs(ranges[0]! - ranges[1]!) >= 65_536)
  })

  test('the configuration of instances contains only numbers and constants of ours', async () => {
    for (const { config } of await listInstances({ client: engine.client, project })) {
      const keys = Object.keys(config)
      assert.deepEqual(keys.filter((key) => /^(raw|user|environment)\./.test(key)).sort(), [
        'environment.SYSTEMD_PROC_CMDLINE',
        'user.disk_bytes',
      ])
      // A hash of the machine's id (record 0007).
      assert.match(
        config['environment.SYSTEMD_PROC_CMDLINE']!,
        /^systemd\.machine_id=[0-9a-f]{32}$/,
      )
      assert.match(config['user.disk_bytes']!, /^\d+$/)
      assert.equal(config['security.privileged'], 'false')
      assert.equal(config['security.guestapi'], 'false')
      assert.equal(config['security.nesting'] ?? 'false', 'false')
      assert.equal(config['boot.autostart'], 'false')
    }
  })

  test('the engine cannot be reached from inside', async () => {
    const script =
      'ls -d /dev/incus /dev/lxd 2>/dev/null; find / -xdev -name unix.socket 2>/dev/null'
    assert.equal((await inGuest(first, 'sh', '-c', script)).stdout, '')
  })

  test('its mounts do not show where the host keeps the pool', async () => {
    const files = '/proc/mounts /sys/block/loop*/loop/backing_file'
    const { stdout } = await inGuest(first, 'sh', '-c', `mount; df -h; cat ${files} 2>/dev/null`)
    assert.match(stdout, / on \/ type btrfs /)
    assert.ok(!stdout.includes(engine.engineDir), stdout)
  })

  test('the agent, mounted from the host, can be read but not changed', async () => {
    assert.equal((await inGuest(first, 'cat', '/opt/computer/agent')).stdout, 'today')
    for (const script of [
      'echo x > /opt/computer/agent',
      'mount -o remount,rw /opt/computer',
      'rm /opt/computer/agent',
      'mount -o remount,bind,rw /opt/computer && echo x > /opt/computer/agent',
    ]) {
      assert.notEqual((await inGuest(first, 'sh', '-c', script)).code, 0, script)
    }
    assert.equal(await readFile(join(guestDir, 'agent'), 'utf8'), 'today')
  })

  test('it has the cores and the memory of its size', async () => {
    const { stdout } = await inGuest(first, 'grep', 'MemTotal', '/proc/meminfo')
    assert.equal(stdout, `MemTotal:        ${1024 * 1024} kB\n`)
    // The engine assigns the cores soon after the start.
    const hasOneCore = async () => (await inGuest(first, 'nproc')).stdout === '1\n'
    await eventually('the machine has the cores of its size', hasOneCore, { withinMs: 10_000 })
  })

  test('a process that uses too much memory is killed, and the machine and its neighbour keep running', async () => {
    const hog = 'x = []\nwhile True: x.append(bytearray(64 << 20))'
    assert.notEqual((await python(first, hog)).code, 0)
    assert.equal(await driver.inspect(first), 'running')
    assert.equal((await inGuest(second, 'true')).code, 0)
  })

  test('the number of threads is limited', async () => {
    const { stdout } = await python(
      first,
      `import threading
threading.stack_size(32768)
stop = threading.Event()
count = 0
try:
    while count < 10000:
        threading.Thread(target=stop.wait, daemon=True).start()
        count += 1
except (RuntimeError, MemoryError):
    pass
print(count, flush=True)
import os
os._exit(0)`,
    )
    assert.ok(Number(stdout) > 100 && Number(stdout) < 8_192, stdout)
    assert.equal((await inGuest(second, 'true')).code, 0)
  })

  test('its disk has a limit that subvolumes cannot avoid, and a machine with a full disk can start', async () => {
    const { stdout } = await python(first, subvolumes)
    assert.equal(stdout.trim(), 'EPERM '.repeat(8).trim())

    const fill = 'dd if=/dev/urandom of=/fill bs=1M count=1500 2>/dev/null; sync; stat -c %s /fill'
    const filled = Number((await inGuest(first, 'sh', '-c', fill)).stdout)
    assert.ok(filled > 0.5 * 2 ** 30 && filled <= 1.05 * 2 ** 30, String(filled))
    await inGuest(first, 'sh', '-c', 'dd if=/dev/zero of=/rest bs=4k 2>/dev/null; sync')

    await driver.stop(first, { graceMs: 0 })
    await driver.start(first)
    await waitForNetwork(first)
    const removed = await inGuest(first, 'rm', '-f', '/fill', '/rest')
    assert.equal(removed.code, 0, removed.stderr)
  })

  test('the host cannot be reached by any of its addresses', async (t) => {
    const port = await listen(t)
    const addresses = Object.values(networkInterfaces())
      .flatMap((list) => list ?? [])
      .filter(({ internal, family }) => !internal && family === 'IPv4')
      .map(({ address }) => address)
    assert.ok(addresses.includes(gateway))
    const found = await Promise.all(addresses.map((address) => probe(first, address, port)))
    assert.deepEqual(
      addresses.filter((_, index) => found[index] === 'open'),
      [],
    )
    assert.notEqual(await probe(first, '169.254.169.254', 80), 'open')
  })

  test('the host cannot be reached by IPv6 either', async (t) => {
    const port = await listen(t)
    const bridge = networkInterfaces()[engine.optionsOf(project).network] ?? []
    for (const { address, family } of bridge) {
      if (family !== 'IPv6') continue
      assert.notEqual(await probe(first, `${address}%eth0`, port), 'open', address)
    }
    const { stdout } = await inGuest(first, 'ip', '-6', 'route', 'show', 'default')
    assert.equal(stdout, '')
  })

  test('no other machine can be reached, not even through the gateway', async () => {
    const target = (await addressOf(second))!
    const serve = 'setsid python3 -m http.server 7777 --directory /tmp </dev/null >/dev/null 2>&1 &'
    await inGuest(second, 'sh', '-c', serve)
    const reachesItself = async () => (await probe(second, target, 7777)) === 'open'
    await eventually('the machine reaches itself', reachesItself, { withinMs: 10_000 })

    assert.notEqual(await probe(first, target, 7777), 'open', 'directly')
    const source = (await addressOf(first))!
    for (const [spec, other] of [
      [first, target],
      [second, source],
    ] as const) {
      await inGuest(spec, 'ip', 'route', 'add', `${other}/32`, 'via', gateway, 'dev', 'eth0')
    }
    assert.notEqual(await probe(first, target, 7777), 'open', 'through the gateway')
  })

  test('an address of another machine cannot be taken over', async (t) => {
    const target = (await addressOf(second))!
    const port = await listen(t)
    await inGuest(first, 'ip', 'address', 'add', `${target}/32`, 'dev', 'eth0')
    const { stdout } = await python(
      first,
      `import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(('${target}', 0)); s.settimeout(2)
try:
    s.sendto(bytes.fromhex('${dnsQuery}'), ('${gateway}', 53)); s.recv(512); print('answered')
except OSError as error:
    print(error)`,
    )
    await inGuest(first, 'ip', 'address', 'delete', `${target}/32`, 'dev', 'eth0')
    assert.notEqual(stdout.trim(), 'answered')
    assert.ok(port > 0)
  })

  test('the gateway resolves names, but not those of other machines', async () => {
    const resolve = (name: string) =>
      python(
        first,
        `import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(10)
q = b''.join(bytes([len(p)]) + p.encode() for p in '${name}'.split('.')) + bytes(1)
s.sendto(bytes.fromhex('000101000001000000000000') + q + bytes.fromhex('00010001'), ('${gateway}', 53))
print(s.recv(512)[7])`,
      )
    assert.match((await resolve('localhost')).stdout, /^\d+\n$/)
    assert.equal((await resolve(`${nameOf(second)}.incus`)).stdout.trim(), '0')
  })

  test('its own user can create the namespaces of a browser sandbox', async () => {
    const enter = 'setpriv --reuid 1000 --regid 1000 --clear-groups unshare -U -r -p -n -f true'
    const { code, stderr } = await inGuest(first, 'sh', '-c', enter)
    assert.equal(code, 0, stderr)
  })
})
