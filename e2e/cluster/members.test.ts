import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { listInstances } from '../../server/src/drivers/incus/instances.ts'
import type { ApiClient } from '../harness/api.ts'
import { callAsOwner, computerCommand, waitUntilUp, watchOutput } from '../harness/host-server.ts'
import { keepServerLogs } from '../harness/logs.ts'
import { readGuide } from '../harness/guide.ts'
import { eventually } from '../harness/polling.ts'
import { formCluster, type Member } from './members.ts'
import { startNetworkPostgres } from './network-postgres.ts'

/*
 * Members of an existing cluster of engines as the hosts of a server, as docs/cluster.md tells. The tests share the
 * server, so each builds on those before it.
 */

const stack = new AsyncDisposableStack()
/** Resources end in the reverse of the order in which they were made. */
const lifetime = { after: (end: () => void | Promise<void>) => stack.defer(async () => end()) }
after(async () => {
  const logs = process.env['COMPUTER_TEST_LOGS']
  for (const { name, folder } of logs === undefined ? [] : cluster.members) {
    await keepServerLogs(`${folder}/data`, `${logs}/${name}`)
  }
  await stack.disposeAsync()
})
const cluster = await formCluster(lifetime, 3)
const [first, second, third] = cluster.members as [Member, Member, Member]
const databaseUrl = await startNetworkPostgres(lifetime, cluster.address)
/** The API of each host, by the host's name. */
const apis = new Map<Member, ApiClient>()
/** The machine that was made on each host. */
const machines = new Map<Member, string>()

test('members of a cluster become hosts of one server', async () => {
  await start(first, {
    DATABASE_URL: databaseUrl,
    COMPUTER_HOST: first.name,
    COMPUTER_HOST_ADDRESS: `${first.address}:7083`,
  })
  await Promise.all([joinServer(second), joinServer(third)])
  for (const member of [first, second, third]) await waitUntilUsed(member)
})

test('each member gets machines, in a project that is its own', async () => {
  for (const _ of [first, second, third]) {
    const { id } = await api(third).ok('POST', '/v1/machines', {})
    const host = await hostOf(id)
    await api(third).run(id, ['sh', '-c', `echo ${host.name} >note; sync`])
    machines.set(host, id)
  }
  assert.equal(machines.size, 3)
})

test('a backup has the disks of all members', async () => {
  const printed = await runOk(first, 'backup', `${first.folder}/backups`, '--json')
  const { machines: count, missing } = JSON.parse(printed)
  assert.deepEqual([count, missing], [3, []])
})

test('no machine reaches a member of the cluster', async () => {
  const command = ['timeout', '3', 'bash', '-c', 'exec 3<>/dev/tcp/$0/7080 && echo reached']
  for (const { address } of [first, second, cluster]) {
    const reached = api(first).run(machineOf(second), [...command, address])
    await assert.rejects(reached, /exited with/)
  }
})

test('a drained member is empty, and a fork begins where a copy of its disk is', async () => {
  const id = machineOf(second)
  const snapshot = await api(first).ok('POST', '/v1/snapshots', { machine_id: id })
  assert.match(await runOk(first, 'hosts', 'drain', second.name), /is drained/)
  // Nothing is left on the host as soon as the machine has its disk on another, where it is starting then.
  await eventually('the machine runs again', async () => (await stateOf(id)) === 'running')
  assert.equal(await api(second).run(id, ['cat', 'note']), noteOf(second))
  const forked = await api(second).ok('POST', `/v1/machines/${id}/fork`, {
    snapshot_id: snapshot.id,
  })
  await eventually('the fork runs', async () => (await stateOf(forked.id)) === 'running')
  assert.equal(await api(second).run(forked.id, ['cat', 'note']), noteOf(second))
  assert.notEqual(await hostOf(forked.id), second)
  await runOk(first, 'hosts', 'undrain', second.name)
  // The emptiest host gets it, which has no copy of the disk yet.
  const template = await api(first).ok('POST', '/v1/templates', {
    name: 'noted',
    snapshot_id: snapshot.id,
  })
  const { id: made } = await api(first).ok('POST', '/v1/machines', { template: template.id })
  assert.equal(await api(first).run(made, ['cat', 'note']), noteOf(second))
  for (const one of [forked.id, made]) await remove(one)
})

test('a member whose engine is killed serves its machines, and the others go on', async () => {
  await third.killEngine()
  await eventually('the engine is missed', async () => {
    return (await listed(third)).unhealthy_reason !== null
  })
  assert.equal(await api(first).run(machineOf(third), ['cat', 'note']), noteOf(third))
  const { id } = await api(third).ok('POST', '/v1/machines', {})
  assert.notEqual(await hostOf(id), third)
  await third.startEngine()
  await waitUntilUsed(third)
  await remove(id)
})

test('a member that dies costs its machines their run, and nothing else', async () => {
  const id = machineOf(third)
  await third.crash()
  await eventually('the machine is in error', async () => (await stateOf(id)) === 'error')
  const { status, body } = await api(first).call('POST', `/v1/machines/${id}/exec`, {
    command: ['true'],
  })
  assert.deepEqual([status, body.error.code], [503, 'compute_unavailable'])
  assert.equal(await api(second).run(machineOf(first), ['cat', 'note']), noteOf(first))
  const { id: made } = await api(first).ok('POST', '/v1/machines', {})
  assert.notEqual(await hostOf(made), third)

  await third.start()
  await start(third, {})
  await eventually('the machine runs again', async () => (await stateOf(id)) === 'running')
  assert.equal(await api(first).run(id, ['cat', 'note']), noteOf(third))
  await remove(made)
})

test('a member that joins the cluster becomes a host, too', async () => {
  const fourth = await cluster.add()
  await joinServer(fourth)
  await waitUntilUsed(fourth)
  // The second member has been drained, so that both are empty.
  for (const _ of [second, fourth]) {
    const { id } = await api(first).ok('POST', '/v1/machines', {})
    assert.equal(await api(fourth).run(id, ['echo', 'up']), 'up\n')
    machines.set(await hostOf(id), id)
  }
  assert.ok(machines.has(fourth))
})

function environmentOf(member: Member): NodeJS.ProcessEnv {
  const { address, engineDir, folder } = member
  return {
    ...process.env,
    COMPUTER_DATA: `${folder}/data`,
    ...(member === first && { COMPUTER_ENGINE_DIR: engineDir }),
    COMPUTER_BIND: address,
    COMPUTER_BASE_URL: `http://${address}:7080`,
    COMPUTER_GATEWAY_URL: `ws://${address}:7081`,
    COMPUTER_WARM_MACHINES: '0',
  }
}

async function start(member: Member, settings: NodeJS.ProcessEnv): Promise<void> {
  const argv = computerCommand(['up'])
  await waitUntilUp(watchOutput(member.spawn(argv, { ...environmentOf(member), ...settings })))
  const key = `${first.folder}/data`
  apis.set(member, await callAsOwner(`http://${member.address}:7080`, key))
}

async function joinServer(member: Member): Promise<void> {
  const added = await runOk(first, 'hosts', 'add', member.name)
  const token = /^\S{100,}$/m.exec(added)![0]
  const [block] = await readGuide('docs/cluster.md', { from: '## An Incus cluster that you have' })
  const texts = [
    ['TOKEN', token],
    ['/var/lib/incus', member.engineDir],
    ['10.0.0.2', member.address],
  ] as const
  const script = texts.reduce((text, [from, to]) => text.replaceAll(from, to), block!)
  const path = `${join(import.meta.dirname, '../../cli/bin')}:${process.env['PATH']}`
  const env = { ...environmentOf(member), PATH: path }
  await finish(member.spawn(['bash', '-euc', script], env))
  await start(member, {})
}

/** Resolves when new machines may go to a host, which has unpacked the image then. */
async function waitUntilUsed(member: Member): Promise<void> {
  await eventually(`${member.name} is used`, async () => {
    const { state, unhealthy_reason: reason, images } = await listed(member)
    return state === 'ready' && reason === null && images.length > 0
  })
}

async function listed({ name }: Member): Promise<Listed> {
  const hosts = JSON.parse(await runOk(first, 'hosts', 'list', '--json')) as Listed[]
  return hosts.find((host) => host.name === name)!
}

type Listed = {
  readonly name: string
  readonly state: string
  readonly unhealthy_reason: string | null
  readonly images: readonly string[]
}

/** Runs a command of `computer` on a host. */
async function runOk(member: Member, ...args: string[]): Promise<string> {
  const settings = member === first ? { DATABASE_URL: databaseUrl, COMPUTER_HOST: first.name } : {}
  const env = { ...environmentOf(member), ...settings }
  return finish(member.spawn(computerCommand(args), env))
}

async function finish(child: ChildProcess): Promise<string> {
  const { output } = watchOutput(child)
  await once(child, 'close')
  assert.equal(child.exitCode, 0, output())
  return output()
}

function api(member: Member): ApiClient {
  return apis.get(member)!
}

function machineOf(member: Member): string {
  return machines.get(member)!
}

/** The text that the first machine of a host has written. */
function noteOf(member: Member): string {
  return `${member.name}\n`
}

async function stateOf(id: string): Promise<string> {
  return (await api(first).ok('GET', `/v1/machines/${id}`)).state
}

async function remove(id: string): Promise<void> {
  await api(first).ok('DELETE', `/v1/machines/${id}`)
}

/** The host whose engine has the machine's instance, with its place in the cluster. */
async function hostOf(id: string): Promise<Member> {
  const name = `mch-${id.slice('mch_'.length)}-`
  for (const member of cluster.members) {
    const place = { client: first.client, project: `computer-${member.name}` }
    const found = (await listInstances(place)).find((one) => one.name.startsWith(name))
    if (!found) continue
    assert.equal(found.location, member.name)
    return member
  }
  throw new Error(`no member has ${id}`)
}
