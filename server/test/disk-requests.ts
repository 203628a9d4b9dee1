import { randomUUID } from 'node:crypto'
import { onDisksOf } from './disks.ts'
import type { EndpointRequest } from './endpoint-requests.ts'
import type { TestServer } from './harness.ts'

type Prepare = () => Promise<EndpointRequest>

/** Valid calls of the endpoints about disks, each on rows of its own. None leaves a machine running. */
export function diskRequests(server: TestServer, machineId: string) {
  const { call } = server
  const disks = onDisksOf(server)

  const snapshotOf = async (state: 'stopped' | 'deleting') => {
    const { id: machine_id } = await server.machine()
    const { id: snapshot_id } = await disks.snapshot(machine_id)
    if (state === 'stopped') await disks.move(machine_id, 'stop')
    else await call('DELETE', `/v1/machines/${machine_id}`)
    return { machine_id, snapshot_id: snapshot_id as string }
  }
  const snapshot: Prepare = async () => {
    const { snapshot_id } = await snapshotOf('deleting')
    return { ids: { snapshot_id } }
  }
  const template: Prepare = async () => {
    const { body } = await call('POST', '/v1/templates', { name: randomUUID() })
    return { ids: { template_id: body.id } }
  }
  const none: Prepare = async () => ({})
  return {
    machines: {
      fork: async () => ({ ids: { machine_id: machineId }, body: {} }),
      restore: async () => {
        const { machine_id, snapshot_id } = await snapshotOf('stopped')
        return { ids: { machine_id }, body: { snapshot_id } }
      },
    },
    snapshots: {
      create: async () => ({ body: { machine_id: machineId } }),
      list: none,
      get: snapshot,
      delete: snapshot,
    },
    templates: {
      create: async () => ({ body: { name: randomUUID(), machine_id: machineId } }),
      list: none,
      get: template,
      update: async () => ({ ...(await template()), body: { description: 'changed' } }),
      delete: template,
    },
  }
}
