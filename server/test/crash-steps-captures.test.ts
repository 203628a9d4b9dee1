import type { MachineId } from '@computer/contract'
import assert from 'node:assert/strict'
import { untilRest } from './crash/clean-slate.ts'
import { testCrashes, type Operation } from './crash/crash-steps.ts'
import { markedMachine, markOfFork } from './crash/marked-machines.ts'
import { onDisksOf } from './disks.ts'

type Subject = { readonly id: MachineId; readonly snapshotId: string; readonly templateId: string }

const captures: Operation<Partial<Subject>>[] = [
  {
    name: 'snapshot',
    calls: ['guest.flush', 'driver.capture', 'write.captures'],
    prepare: async (server) => ({ id: await markedMachine(server) }),
    ask: (server, { id }) => server.call('POST', '/v1/snapshots', { machine_id: id, name: 'kept' }),
    expect: async (server, { id }, { body }) => {
      const kept = await server.call('GET', `/v1/snapshots/${body.id}`)
      assert.deepEqual([kept.body.state, kept.body.name], ['ready', 'kept'])
      assert.equal(await markOfFork(server, id!, body.id), 'first')
      const types = await onDisksOf(server).events(id!, /^snapshot/)
      assert.deepEqual(types, ['snapshot.started', 'snapshot.completed'])
    },
  },
  {
    name: 'delete a snapshot',
    calls: ['driver.removeCapture', 'write.snapshots', 'write.captures'],
    prepare: async (server) => {
      const id = await markedMachine(server)
      return { id, snapshotId: (await onDisksOf(server).snapshot(id)).id }
    },
    ask: (server, { snapshotId }) => server.call('DELETE', `/v1/snapshots/${snapshotId}`),
    expect: async (server, { id, snapshotId }) => {
      assert.equal((await server.call('GET', `/v1/snapshots/${snapshotId}`)).status, 404)
      assert.deepEqual(await onDisksOf(server).events(id!, /deleted/), ['snapshot.deleted'])
    },
  },
  {
    name: 'template of a machine',
    calls: ['guest.flush', 'driver.capture'],
    prepare: async (server) => ({ id: await markedMachine(server) }),
    ask: (server, { id }) => server.call('POST', '/v1/templates', { machine_id: id, name: 'kept' }),
    expect: async (server, _, { body }) => {
      assert.equal((await server.call('GET', `/v1/templates/${body.id}`)).body.state, 'ready')
      const made = await server.machine({ template: body.id })
      assert.equal(await onDisksOf(server).readMark(made.id), 'first')
      await untilRest(server.app)
    },
  },
  {
    name: 'create from a template',
    calls: ['driver.create', 'driver.start', 'guest.setIdentity'],
    prepare: async (server) => {
      const id = await markedMachine(server)
      const wish = { machine_id: id, name: 'base' }
      const { body } = await server.call('POST', '/v1/templates', wish)
      await onDisksOf(server).templateIn(body.id, 'ready')
      return { id, templateId: body.id }
    },
    ask: (server, { templateId }) => server.call('POST', '/v1/machines', { template: templateId }),
    expect: async (server, { templateId }, { body }) => {
      assert.deepEqual([body.state, body.template_id], ['running', templateId])
      assert.equal(await onDisksOf(server).readMark(body.id), 'first')
    },
  },
  {
    name: 'fork',
    calls: [
      'guest.flush',
      'driver.capture',
      'driver.create',
      'driver.start',
      'driver.removeCapture',
    ],
    prepare: async (server) => ({ id: await markedMachine(server) }),
    ask: (server, { id }) => server.call('POST', `/v1/machines/${id}/fork`, { name: 'fork' }),
    expect: async (server, { id }, { body }) => {
      const disks = onDisksOf(server)
      for (const machine of [id!, body.id]) {
        await disks.machineIn(machine, 'running')
        assert.equal(await disks.readMark(machine), 'first')
      }
      assert.deepEqual(await disks.events(body.id, /started/), ['machine.started'])
      assert.equal((await server.app.driver.listCaptures()).length, 0)
    },
  },
  {
    name: 'fork from a snapshot',
    calls: ['driver.create', 'driver.start', 'guest.setIdentity'],
    prepare: async (server) => {
      const id = await markedMachine(server)
      const { id: snapshotId } = await onDisksOf(server).snapshot(id)
      await onDisksOf(server).mark(id, 'later')
      return { id, snapshotId }
    },
    ask: (server, { id, snapshotId }) =>
      server.call('POST', `/v1/machines/${id}/fork`, { snapshot_id: snapshotId }),
    expect: async (server, { id }, { body }) => {
      assert.equal(await onDisksOf(server).readMark(body.id), 'first')
      assert.equal(await onDisksOf(server).readMark(id!), 'later')
    },
  },
]
for (const operation of captures) testCrashes(operation)
