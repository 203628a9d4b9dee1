import type { ApiClient } from '../harness/api.ts'
import { eventually } from '../harness/polling.ts'

/** Common steps of disk tests, through the API. */
export function createDiskSteps(api: ApiClient) {
  const steps = {
    /** Marks a disk by the content of a file. */
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

    /** Resolves to the snapshot when it is ready or has failed. */
    settled(id: string) {
      return eventually(`${id} is ready or has failed`, async () => {
        const found = await api.ok('GET', `/v1/snapshots/${id}`)
        return found.state === 'pending' ? undefined : found
      })
    },

    /** Resolves when the restore is complete and the machine runs again, if it did before. */
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
