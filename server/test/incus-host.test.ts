import assert from 'node:assert/strict'
import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { startTestEngine } from '../../e2e/harness/engine.ts'
import { createIncusDriver } from '../src/drivers/incus/driver.ts'
import { groupsFolder } from '../src/drivers/incus/payload-group.ts'
import { nameOf, refOf } from '../src/drivers/incus/instance.ts'
import { readLastExit } from '../src/drivers/incus/last-exit.ts'
import { chooseSubnet, overlap, parseSubnet, readHostRoutes } from '../src/drivers/incus/subnet.ts'
import { describeUnfrozen } from '../src/drivers/incus/unfrozen.ts'
import { findEngine, prepareEngineFiles, stopEngine } from '../src/host/engine.ts'
import { eventually } from './settled.ts'

const id = 'mch_01kaj0v3m8q4t2x6y9z1b5c7d3'

test('leftovers of a failed start are swept from the host, and resources in use stay', async () => {
  await using engine = await startTestEngine()
  const options = engine.optionsOf('sweeping')
  await using driver = createIncusDriver(options)
  await driver.prepare()
  const [leaked, peer] = [linkName(), linkName()]
  execFileSync('ip', ['link', 'add', leaked, 'type', 'veth', 'peer', 'name', peer])
  execFileSync('ip', ['link', 'set', leaked, 'master', options.network, 'up'])
  const folder = join(engine.engineDir, 'run', `sweeping_${nameOf({ id, generation: 1 })}`)
  mkdirSync(folder)
  await driver.sweep()
  const links = execFileSync('ip', ['-br', 'link'], { encoding: 'utf8' })
  assert.ok(!links.includes(leaked) && !links.includes(peer))
  assert.ok(links.includes(options.network))
  assert.ok(!existsSync(folder))

  const dataDir = dirname(engine.engineDir)
  assert.ok(await findEngine(dataDir))
  await stopEngine(dataDir)
  assert.equal(await findEngine(dataDir), undefined)
  await assert.rejects(driver.ping(), { name: 'DriverError', retryable: true })
})

test('the frozen group of a machine that is gone is removed with its process', async (t) => {
  await using engine = await startTestEngine()
  await using driver = createIncusDriver(engine.optionsOf('sweeping'))
  await driver.prepare()
  const name = `sweeping_${nameOf({ id, generation: 3 })}`
  mkdirSync(join(engine.engineDir, 'logs', name), { recursive: true })
  assert.ok(groupsFolder)
  const group = join(groupsFolder, `lxc.payload.${name}`)
  const sleeper = spawnIn(join(group, 'inner'))
  t.after(() => sleeper.kill('SIGKILL'))
  const ended = once(sleeper, 'exit')
  writeFileSync(join(group, 'cgroup.freeze'), '1')
  await driver.sweep()
  await ended
  assert.ok(!existsSync(group))
})

test('links that a daemon left when it died during a stop are swept with their filters', async () => {
  await using engine = await startTestEngine()
  await using driver = createIncusDriver(engine.optionsOf('sweeping'))
  await driver.prepare()
  await driver.addImage(engine.imageId, engine.imageFiles)
  const spec = engine.makeSpec()
  await driver.create(spec)
  const [stopped, deleted, other] = [linkName(), linkName(), linkName()]
  const [peer, deletedPeer, otherPeer] = [linkName(), linkName(), linkName()]
  const addFilter = (name: string, link: string, linkPeer: string) => {
    execFileSync('ip', ['link', 'add', link, 'type', 'veth', 'peer', 'name', linkPeer])
    execFileSync('ip', ['link', 'set', link, 'up'])
    const chain = `in.sweeping_${name}.eth0`
    const rules = `add table bridge incus
add chain bridge incus ${chain} { type filter hook input priority 0; }
add rule bridge incus ${chain} iifname "${link}" ether saddr 10:66:6a:48:82:1d drop`
    execFileSync('nft', ['-f', '-'], { input: rules })
    return chain
  }
  const swept = addFilter(nameOf(spec), stopped, peer)
  // The engine has a folder of each machine that it ran.
  const name = nameOf({ id, generation: 2 })
  const folder = join(engine.engineDir, 'logs', `sweeping_${name}`)
  mkdirSync(folder, { recursive: true })
  const sweptToo = addFilter(name, deleted, deletedPeer)
  // The other may be starting, in an engine of its own on this host.
  const kept = addFilter(nameOf({ id, generation: 1 }), other, otherPeer)
  try {
    await driver.sweep()
    const links = execFileSync('ip', ['-br', 'link'], { encoding: 'utf8' })
    const filters = execFileSync('nft', ['list', 'table', 'bridge', 'incus'], { encoding: 'utf8' })
    for (const link of [stopped, peer, deleted, deletedPeer]) assert.ok(!links.includes(link))
    assert.ok(!existsSync(folder))
    assert.deepEqual([links.includes(other), links.includes(otherPeer)], [true, true])
    const found = [swept, sweptToo, kept].map((chain) => filters.includes(chain))
    assert.deepEqual(found, [false, false, true])
  } finally {
    execFileSync('ip', ['link', 'delete', other])
    execFileSync('nft', ['delete', 'chain', 'bridge', 'incus', kept])
  }
})

test('threads that a freeze waits for are described', async (t) => {
  assert.ok(groupsFolder)
  const group = join(groupsFolder, `computer-test-${randomBytes(4).toString('hex')}`)
  const inner = join(group, 'inner')
  const sleeper = spawnIn(inner)
  t.after(async () => {
    const ended = once(sleeper, 'exit')
    sleeper.kill('SIGKILL')
    await ended
    for (const folder of [inner, group]) rmdirSync(folder)
  })
  const isDescribed = async (as: RegExp) => as.test(await describeUnfrozen(group)) || undefined
  await eventually(() => isDescribed(/^"sleep" \(S, \w+\)$/))
  writeFileSync(join(group, 'cgroup.freeze'), '1')
  await eventually(() => isDescribed(/^none$/))
})

test('a network whose address another server has just taken is passed over', async (t) => {
  const [taken] = chooseSubnet(await readHostRoutes())!.split('/') as [string]
  const holder = spawn('perl', ['-MSocket', '-e', holdDns, taken], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => holder.kill())
  await once(holder.stdout, 'data')
  await using engine = await startTestEngine()
  const options = engine.optionsOf('taken')
  await using driver = createIncusDriver(options)
  await driver.prepare()
  const { config } = await engine.client.get<{ config: Record<string, string> }>(
    `/1.0/networks/${options.network}`,
  )
  assert.ok(parseSubnet(config['ipv4.address']!))
  assert.notEqual(config['ipv4.address']!.split('/')[0], taken)
})

/** Holds the DNS port of an address that the host does not have. 15 is IP_FREEBIND. */
const holdDns = `socket(S, PF_INET, SOCK_DGRAM, 0) && setsockopt(S, 0, 15, 1)
  && bind(S, sockaddr_in(53, inet_aton($ARGV[0]))) or die $!; $| = 1; print "held"; sleep 60`

test('the link of a server that was removed does not keep the network from being made', async () => {
  await using engine = await startTestEngine()
  const options = engine.optionsOf('reinstalled')
  execFileSync('ip', ['link', 'add', options.network, 'type', 'bridge'])
  await using driver = createIncusDriver(options)
  await driver.prepare()
  const { managed } = await engine.client.get<{ managed: boolean }>(
    `/1.0/networks/${options.network}`,
  )
  assert.equal(managed, true)
})

test('a network is made while the links of another server go', async () => {
  await using engine = await startTestEngine()
  const options = engine.optionsOf('crowded')
  const prefix = linkName()
  const pairs = Array.from({ length: 30 }, (_, index) => `${prefix}${index}`)
  for (const name of pairs) execFileSync('ip', ['link', 'add', name, 'type', 'veth'])
  const deleter = spawn('bash', ['-ec', deleteLinks, 'delete', options.network, ...pairs.reverse()])
  const ended = once(deleter, 'exit')
  await using driver = createIncusDriver(options)
  await driver.prepare()
  assert.deepEqual(await ended, [0, null])
})

/** Deletes links, one after another, from the moment that the link $1 exists, or at last anyway. */
const deleteLinks = `for _ in {1..9999}; do [ -e "/sys/class/net/$1" ] && break; sleep 0.001; done
  for link in "\${@:2}"; do ip link delete "$link"; sleep 0.01; done`

test('a data folder with too long a path for the socket is refused with a remedy', async () => {
  const dataDir = join('/tmp', 'x'.repeat(100))
  await assert.rejects(
    prepareEngineFiles(dataDir),
    /only 107 are possible: choose a data folder .* shorter/,
  )
})

test('an instance is named after machine and generation, and invalid ids are refused', () => {
  for (const generation of [0, 1, 12]) {
    assert.deepEqual(refOf(nameOf({ id, generation })), { id, generation })
  }
  for (const bad of [
    'mch_../../../../../../x',
    'mch_short',
    'mch_01KAJ0V3M8Q4T2X6Y9Z1B5C7D3',
    `${id}\n`,
  ]) {
    assert.throws(() => nameOf({ id: bad as typeof id, generation: 1 }), { retryable: false })
  }
  for (const generation of [-1, 1.5, Number.NaN, 1e21]) {
    assert.throws(() => nameOf({ id, generation }), { retryable: false })
  }
  for (const name of ['seed-01kaj0v3m8q4t2x6y9z1b5c7d3', 'mch-01kaj0v3m8q4t2x6y9z1b5c7d3', 'web']) {
    assert.equal(refOf(name), undefined)
  }
})

test('the network of the machines overlaps none that is in use', () => {
  const all = parseSubnet('10.0.0.0/9')!
  const chosen = parseSubnet(chooseSubnet([all])!)!
  assert.ok(!overlap(all, chosen))
  assert.ok(overlap(parseSubnet('10.1.2.3/32')!, parseSubnet('10.1.0.0/16')!))
  assert.equal(chooseSubnet([parseSubnet('10.0.0.0/8')!]), undefined)
  for (const bad of ['10.0.0.0', '10.0.0.256/8', '10.0.0.0/33', '::/0']) {
    assert.equal(parseSubnet(bad), undefined)
  }
})

test('the exit of an init is read from the last run of its log', () => {
  const line = (text: string, where = 'start - ../src/lxc/start.c') =>
    `lxc m 20261121094631.147 DEBUG    ${where}:f:1 - ${text}`
  const halting = line('Interrupt(2) - Container "m" is halting')
  const rebooting = line('Hangup(1) - Container "m" is rebooting')
  const exited = line('Container init process 7 exited')
  const started = line('Started "/sbin/init" with pid "7"')
  const killed = line('Killed(9) - Container "m" init exited')
  const starting = line('Read uid map', 'confile - ../src/lxc/confile.c')
  const kindOf = (lines: readonly string[], now = '2026-11-21T09:50:00Z') =>
    readLastExit(lines.join('\n'), new Date(now)).kind
  assert.equal(kindOf([started, halting]), 'poweroff')
  assert.equal(kindOf([started, exited, rebooting]), 'reboot')
  assert.equal(kindOf([halting, started, killed]), 'died')
  assert.equal(kindOf([halting, started]), 'unknown')
  assert.equal(kindOf([exited]), 'died')
  assert.equal(kindOf([]), 'unknown')
  assert.equal(kindOf([starting]), 'unknown')
  assert.equal(kindOf([starting], '2026-11-21T09:46:33Z'), 'reboot')
  assert.equal(kindOf([starting, started], '2026-11-21T09:46:33Z'), 'unknown')
})

function linkName(): string {
  return `veth${randomBytes(4).toString('hex')}`
}

function spawnIn(group: string): ChildProcess {
  mkdirSync(group, { recursive: true })
  const sleeper = spawn('sleep', ['1000'], { stdio: 'ignore' })
  writeFileSync(join(group, 'cgroup.procs'), String(sleeper.pid))
  return sleeper
}
