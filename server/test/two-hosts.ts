import type { MachineId } from '@computer/contract'
import type { TestContext } from 'node:test'
import { onDisksOf } from './disks.ts'
import { startTestServer } from './harness.ts'
import { bothReady, createOn, runIn } from './hosts.ts'

export const other = 'host-2'

export function refOf(id: string) {
  return { id: id as MachineId, generation: 1 }
}

/** A server with two hosts, one of which can fall silent. */
export async function startTwoHosts(
  t: TestContext,
  times: { readonly hostSilenceMs?: number } = {},
) {
  const timing = { hostSilenceMs: 1_000, hostGoneMs: 1_500, ...times }
  const server = await startTestServer(t, {
    worker: false,
    otherHosts: [other],
    timing,
    plan: 'startup',
  })
  server.startWorker()
  const worker = server.startOther(other)
  await bothReady(server)
  const disks = onDisksOf(server)
  const { call } = server
  return {
    server,
    call,
    disks,
    createOn: (host: string) => createOn(server, host),
    run: (id: string, command: string) => runIn(server, id, command),
    /** Ends the worker of the other host. Resolves to what starts it again. */
    async silence() {
      await worker.stop()
      return async () => {
        server.startOther(other)
        await bothReady(server)
      }
    },
  }
}
