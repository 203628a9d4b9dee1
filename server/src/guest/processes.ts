import {
  GuestLog,
  GuestProcess,
  GuestProcesses,
  guestProcessRoutes,
  type GuestLogQuery,
  type GuestProcessInput,
  type GuestProcessQuery,
  type GuestProcessSignal,
  type GuestStartProcess,
} from '@computer/contract'
import { z } from 'zod'
import type { GuestRef } from './channels.ts'
import type { CallJson, CallOptions } from './call.ts'

const mebibyte = 1024 * 1024
/** The longest range in base 64, and its frame. */
const maxLogBytes = 6 * mebibyte
/** A hundred exited processes and 256 running ones, each with 4,096 characters of its command. */
const maxListBytes = 16 * mebibyte
/** Time for the agent to answer, beyond the requested wait. */
const answerMs = 15_000

/** The agent's background processes as functions of the guest client. */
export function processCalls(callJson: CallJson) {
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value))
  const routes = guestProcessRoutes
  return {
    startProcess: (ref: GuestRef, request: GuestStartProcess, { signal }: CallOptions = {}) =>
      callJson(
        ref,
        routes.startProcess,
        GuestProcess,
        { body: encode(request), signal },
        maxLogBytes,
      ),

    async listProcesses(ref: GuestRef, { signal }: CallOptions = {}) {
      const list = await callJson(
        ref,
        routes.listProcesses,
        GuestProcesses,
        { signal },
        maxListBytes,
      )
      return list.data
    },

    readProcess: (ref: GuestRef, query: GuestProcessQuery, { signal }: CallOptions = {}) => {
      const request = { query, signal, timeoutMs: query.wait * 1000 + answerMs }
      return callJson(ref, routes.readProcess, GuestProcess, request, maxLogBytes)
    },

    readProcessLog: (ref: GuestRef, query: GuestLogQuery, { signal }: CallOptions = {}) => {
      const request = { query, signal, timeoutMs: query.wait * 1000 + answerMs }
      return callJson(ref, routes.readProcessLog, GuestLog, request, maxLogBytes)
    },

    async writeProcessInput(
      ref: GuestRef,
      request: GuestProcessInput,
      { signal }: CallOptions = {},
    ) {
      const body = encode(request)
      await callJson(ref, routes.writeProcessInput, z.object({}), { body, signal })
    },

    async signalProcess(ref: GuestRef, request: GuestProcessSignal, { signal }: CallOptions = {}) {
      const body = encode(request)
      await callJson(ref, routes.signalProcess, z.object({}), { body, signal })
    },
  }
}
