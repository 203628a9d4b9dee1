import type { CaptureId, ImageId, MachineId } from '@computer/contract'
import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { test, type TestContext } from 'node:test'
import type { Disk, DiskKeeper, KeptDisk } from '../src/drivers/disk-keeper.ts'
import { DriverError } from '../src/drivers/machine-driver.ts'
import { createRemotePeer } from '../src/peers/client.ts'
import { listenForPeers } from '../src/peers/listener.ts'
import type { Peer } from '../src/peers/peer.ts'
import { requestPeer } from './peer-request.ts'
import { eventually } from './settled.ts'

/* The way from a backup to the disks of another host. */

const token = 'a-token'
const folder = '01k00000000000000000000000'
const machineId = 'mch_0000000000000000000001' as MachineId
const imageId = 'img_00000000000000000001' as ImageId
const machine: Disk = { kind: 'machine', ref: { id: machineId, generation: 3 } }
const capture: Disk = { kind: 'capture', id: 'cap_00000000000000000001' }
const [first, second] = ['cap_00000000000000000002', 'cap_00000000000000000003'] as CaptureId[]

test('disks of another host are listed, kept, sent and dropped', async (t) => {
  const { keeper, calls } = await start(t)
  assert.deepEqual(await keeper.listDisks(), [machine, capture])
  assert.equal(await keeper.keep(machine, first!), true)
  assert.equal(await keeper.keep(capture, second!), false)
  assert.deepEqual(await keeper.listKept(), [{ disk: machine, id: first }])
  for (const base of [null, second!]) {
    const stream = await keeper.send({ disk: machine, id: first! }, { imageId, base })
    assert.equal(await text(stream), `${first} of ${imageId} after ${base}`)
  }
  await keeper.drop({ disk: machine, id: first! })
  assert.deepEqual(await keeper.listKept(), [])
  assert.deepEqual(calls.opened, Array(calls.opened.length).fill(folder))
  assert.equal(calls.closed, calls.opened.length)
})

test('a list is longer than other answers may be', async (t) => {
  const { keeper, disks } = await start(t)
  const many = Array.from({ length: 5_000 }, (_, generation) => ({
    kind: 'machine' as const,
    ref: { id: machineId, generation },
  }))
  disks.splice(0, disks.length, ...many)
  assert.deepEqual(await keeper.listDisks(), many)
})

test('failures arrive as what they are, and a stream that breaks off fails', async (t) => {
  const { keeper, calls, fail, breakStreams } = await start(t)
  fail(new DriverError('it keeps changing', { retryable: true }))
  const expected = { message: 'it keeps changing', retryable: true }
  await assert.rejects(keeper.keep(machine, first!), expected)
  await assert.rejects(
    keeper.send({ disk: machine, id: first! }, { imageId, base: null }),
    expected,
  )
  fail(undefined)
  breakStreams()
  const broken = await keeper.send({ disk: machine, id: first! }, { imageId, base: null })
  await assert.rejects(text(broken))
  await eventually(async () => calls.closed === calls.opened.length || undefined)
})

test('what names no disk, and who is not of the server, is refused before a keeper is opened', async (t) => {
  const { ask, calls } = await start(t)
  const kept = `/keepers/${folder}/kept`
  const name = `${machineId}.3`
  for (const [method, path] of [
    ['GET', '/keepers'],
    ['GET', `/keepers/${folder}`],
    ['GET', `/keepers/..%2f..%2fetc/disks`],
    ['GET', `/keepers/${folder}/disks/more`],
    ['POST', `/keepers/${folder}/disks`],
    ['POST', kept],
    ['POST', `${kept}/${name}`],
    ['POST', `${kept}/${machineId}/${first}`],
    ['POST', `${kept}/${name}/..`],
    ['POST', `${kept}/${name}/${first}/more`],
    ['PUT', `${kept}/${name}/${first}`],
    ['DELETE', `${kept}/..%2f/${first}`],
    ['GET', `/keepers/${folder}/streams/${name}/${first}/${imageId}`],
    ['GET', `/keepers/${folder}/streams/${name}/${first}/${imageId}/..`],
  ] as const) {
    assert.equal(await ask(method, path, token), 404, `${method} ${path}`)
    assert.equal(await ask(method, path, 'another'), 401, `${method} ${path}`)
  }
  // Other calls change nothing, whatever their method.
  assert.equal(await ask('POST', `/disks/${machineId}/3`, token), 404)
  assert.deepEqual(calls.opened, [])
})

/** A listener before a host with two disks, of which the capture cannot be kept. */
async function start(t: TestContext) {
  const disks: Disk[] = [machine, capture]
  const kept: KeptDisk[] = []
  const calls = { opened: [] as string[], closed: 0 }
  let failure: Error | undefined
  let isBroken = false
  const keeper: DiskKeeper = {
    listDisks: async () => disks,
    async keep(disk, id) {
      if (failure) throw failure
      if (disk.kind === 'capture') return false
      kept.push({ disk, id })
      return true
    },
    listKept: async () => kept,
    async send({ disk, id }, transfer) {
      if (failure) throw failure
      assert.deepEqual(disk, machine)
      return Readable.from(
        (function* () {
          yield `${id} of ${transfer.imageId} after ${transfer.base}`
          if (isBroken) throw new Error('the disk cannot be read')
        })(),
      )
    },
    async drop(one) {
      assert.deepEqual(kept, [one])
      kept.pop()
    },
    async [Symbol.asyncDispose]() {
      calls.closed += 1
    },
  }
  const unused = () => assert.fail('only disks are kept here')
  const peer: Peer = {
    connect: unused,
    measureDisk: unused,
    readImage: unused,
    sendCapture: unused,
    async openKeeper(name) {
      calls.opened.push(name)
      return keeper
    },
  }
  const isProof = async (given: string) => given === token
  const options = { address: '127.0.0.1', port: 0, isProof, admit: async () => null }
  const listener = await listenForPeers(peer, options)
  const remote = await createRemotePeer({ ...listener, token }).openKeeper(folder)
  t.after(async () => {
    await remote[Symbol.asyncDispose]()
    await listener[Symbol.asyncDispose]()
  })
  const ask = (method: string, path: string, given: string) =>
    requestPeer(listener, path, { method, headers: { authorization: `Bearer ${given}` } })
  const fail = (error: Error | undefined) => (failure = error)
  const breakStreams = () => (isBroken = true)
  return { keeper: remote, disks, calls, fail, breakStreams, ask }
}
