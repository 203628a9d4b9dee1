import {
  GuestLogQuery,
  GuestProcessInput,
  GuestProcessQuery,
  GuestProcessSignal,
  GuestStartProcess,
} from '@computer/contract/guest-processes'
import type { guestProcessRoutes } from '@computer/contract/guest-routes'
import { parse, parseBody } from '../body.ts'
import type { LoginOptions } from '../exec/environment.ts'
import type { Route } from '../server.ts'
import { Processes } from './processes.ts'

export function processRoutes(
  folder: string,
  loginOf: (name: string) => Promise<LoginOptions>,
): Record<keyof typeof guestProcessRoutes, Route> {
  const processes = new Processes(folder)
  return {
    startProcess: async ({ body }) => {
      const request = await parseBody(GuestStartProcess, body)
      return { json: await processes.start(request, await loginOf(request.user)) }
    },
    listProcesses: async () => ({ json: { data: processes.list() } }),
    readProcess: async ({ query, signal }) => {
      const { id, wait } = parse(GuestProcessQuery, query)
      return { json: await processes.find(id).waitForExit(wait, signal) }
    },
    readProcessLog: async ({ query, signal }) => {
      const { id, ...request } = parse(GuestLogQuery, query)
      return { json: await processes.find(id).readLog(request, signal) }
    },
    writeProcessInput: async ({ body }) => {
      const { id, content, eof } = await parseBody(GuestProcessInput, body)
      processes.find(id).write(Buffer.from(content, 'base64'), eof)
      return { json: {} }
    },
    signalProcess: async ({ body }) => {
      const { id, signal } = await parseBody(GuestProcessSignal, body)
      processes.find(id).signal(signal)
      return { json: {} }
    },
  }
}
