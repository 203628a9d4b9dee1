import type { ApiClient } from '../harness/api.ts'
import { eventually } from '../harness/polling.ts'

/** What tests of disks do again and again, through the API. */
export function createDiskSteps(api: ApiClient) {
  const steps = {
    /** The content of a file tells disks apart. */
    async write(id: string, content: string): Promise<void> {
      await api.ok('PUT', `/v1/machines/${id}/files/content`, { path: 'note', content })
    },

    async read(id: string): Promise<string> {
      return (await api.ok('GET', `/v1/machines/${id}/files/content?path=note`)).content
    },

    /** Resolves to the id when the machine runs. */
    running(id: string): Promise<string> {
      return eventually(`${id} runs`, async () => {
        const { state } = await api.ok('GET', `/v1/machines/${id}`)
        if (state === 'error') throw new Error(`${id} is in error`)
        return state === 'running' ? id : undefined
      })
    },

    /** A snapshot that is taken, ready or not. */
    taken(id: string) {
      return eventually(`${id} is taken`, async () => {
        const found = await api.ok('GET', `/v1/snapshots/${id}`)
        return found.state === 'pending' ? undefined : found
      })
    },

    /** Restores, and resolves when the machine has the disk and, if it ran, runs. */
    async restore(id: string, snapshotId: string): Promise<void> {
      const path = `/v1/machines/${id}`
      const { state } = await api.ok('POST', `${path}/restore`, { snapshot_id: snapshotId })
      await eventually(`${id} is restored`, async () => {
        const { data } = await api.ok('GET', `${path}/events?limit=20`)
        const last = data.find(({ type }: { type: string }) => type.startsWith('machine.restore_'))
        if (last.type === 'machine.restore_failed') throw new Error(last.message)
        return last.type === 'machine.restore_completed'
      })
      if (state === 'stopping') await steps.running(id)
    },
  }
  return steps
}
