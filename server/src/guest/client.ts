import {
  Display,
  GuestBrief,
  GuestClipboard,
  GuestExecResult,
  GuestFenceState,
  GuestFileList,
  GuestHealth,
  GuestInputResult,
  GuestMovedFile,
  guestRoutes,
  GuestScreenWait,
  GuestUsage,
  GuestWrittenArchive,
  WrittenFile,
  type ClipboardSelection,
  type GuestArchiveQuery,
  type GuestBriefQuery,
  type GuestClipboardQuery,
  type GuestDeleteQuery,
  type GuestExec,
  type GuestFence,
  type GuestIdentity,
  type GuestInput,
  type GuestListQuery,
  type GuestMove,
  type GuestReadQuery,
  type GuestScreenshotQuery,
  type GuestScreenWaitQuery,
  type GuestWriteQuery,
} from '@computer/contract'
import type { Readable } from 'node:stream'
import { z } from 'zod'
import { parseFileHeaders, parseScreenshotHeaders } from './answer.ts'
import { streamBody, useBody } from './body.ts'
import { answerTimeoutMs, createCalls, maxJsonBytes, type CallOptions } from './call.ts'
import {
  GuestChannels,
  type AgentConnector,
  type GuestChannelOptions,
  type GuestRef,
} from './channels.ts'
import { GuestRefusal, GuestUnavailable } from './errors.ts'
import { processCalls } from './processes.ts'
import { secretCalls } from './secrets.ts'
import { terminalCalls } from './terminals.ts'
import { startTimeLimit } from './time-limit.ts'

const mebibyte = 1024 * 1024
/** A character of JSON takes at most six bytes: \u0000. */
const maxExecBytes = 2 * 6 * mebibyte + maxJsonBytes
const maxClipboardBytes = 4 * 6 * mebibyte + maxJsonBytes
/** A hundred entries, each with its path and link target. */
const maxListBytes = 100 * 6 * 3 * 4096
/** Two hundred windows, and two hundred paths of 4096 characters. */
const maxBriefBytes = 200 * 6 * (256 + 128 + 4096) + maxJsonBytes
const maxHeldImageBytes = 16 * mebibyte

const inputTimeoutMs = 60_000
const streamSilenceMs = 60_000
/** A tree of a million files takes minutes. */
const deleteTimeoutMs = 600_000
/** Time for the agent to kill the command and answer, beyond the command's own limit. */
const execGraceMs = 10_000

export type GuestImage<Content> = Omit<ReturnType<typeof parseScreenshotHeaders>, 'size'> & Content
export type GuestFile<Content> = { readonly path: string; readonly size: number } & Content

type ScreenshotOptions = Partial<z.output<typeof GuestScreenshotQuery>>

function screenshotRequest(query: ScreenshotOptions, signal: AbortSignal | undefined) {
  const waitMs = query.settle_ms ? (query.timeout_ms ?? 0) : 0
  return { query, signal, timeoutMs: answerTimeoutMs + waitMs }
}

/**
 * The agent's routes as functions. They throw GuestRefusal when the agent declines a request,
 * GuestUnavailable when there is no answer, and the signal's reason when it was aborted.
 */
export type GuestClient = ReturnType<typeof createGuestClient>

export function createGuestClient(connector: AgentConnector, options: GuestChannelOptions = {}) {
  const channels = new GuestChannels(connector, options)

  const { call, callJson } = createCalls(channels)

  return {
    channels,

    health: (ref: GuestRef, { signal }: CallOptions = {}) =>
      callJson(ref, guestRoutes.health, GuestHealth, { urgent: true, signal }),

    async setIdentity(ref: GuestRef, identity: GuestIdentity, { signal }: CallOptions = {}) {
      const body = encodeJson(identity)
      await callJson(ref, guestRoutes.identity, z.object({}), { body, signal })
    },

    /**
     * Once it resolves, no input with a lower fence can reach the display, and if it is private, nothing of the
     * screen or the clipboard reaches others.
     */
    setFence: (ref: GuestRef, fence: GuestFence, { signal }: CallOptions = {}) => {
      const body = encodeJson(fence)
      return callJson(ref, guestRoutes.fence, GuestFenceState, { body, urgent: true, signal })
    },

    display: (ref: GuestRef, { signal }: CallOptions = {}) =>
      callJson(ref, guestRoutes.display, Display, { signal }),

    screenshot: (
      ref: GuestRef,
      query: ScreenshotOptions,
      { signal }: CallOptions = {},
    ): Promise<GuestImage<{ readonly bytes: Buffer }>> =>
      call(ref, guestRoutes.screenshot, screenshotRequest(query, signal), (answer) => {
        const { size, ...image } = parseScreenshotHeaders(answer)
        if (size > maxHeldImageBytes) throw tooLongToHold()
        return useBody(answer, size, (bytes) => ({ ...image, bytes }))
      }),

    /** The caller reads the stream to its end or destroys it. It fails if the image is cut short. */
    openScreenshot: (
      ref: GuestRef,
      query: ScreenshotOptions,
      { signal }: CallOptions = {},
    ): Promise<GuestImage<{ readonly size: number; readonly stream: Readable }>> => {
      const request = { ...screenshotRequest(query, signal), streams: true }
      return call(ref, guestRoutes.screenshot, request, async (answer) => ({
        ...parseScreenshotHeaders(answer),
        stream: streamBody(answer),
      }))
    },

    waitForScreen: (
      ref: GuestRef,
      query: z.output<typeof GuestScreenWaitQuery>,
      { signal }: CallOptions = {},
    ) => {
      const timeoutMs = answerTimeoutMs + query.timeout_ms
      return callJson(ref, guestRoutes.waitForScreen, GuestScreenWait, { query, signal, timeoutMs })
    },

    input: (ref: GuestRef, input: z.input<typeof GuestInput>, { signal }: CallOptions = {}) => {
      const body = encodeJson(input)
      const { action } = input
      // The caller may have requested a pause after every character.
      const askedMs = action.type === 'type' ? action.text.length * (action.delay_ms ?? 0) : 0
      const request = { body, timeoutMs: inputTimeoutMs + askedMs, signal }
      return callJson(ref, guestRoutes.input, GuestInputResult, request)
    },

    async readClipboard(
      ref: GuestRef,
      query: Partial<z.output<typeof GuestClipboardQuery>>,
      { signal }: CallOptions = {},
    ): Promise<{ text: string; selection: z.output<typeof ClipboardSelection> }> {
      const route = guestRoutes.readClipboard
      const request = { query, signal }
      const { text } = await callJson(ref, route, GuestClipboard, request, maxClipboardBytes)
      return { text, selection: query.selection ?? 'clipboard' }
    },

    /** The windows and a mark of the clipboard; with `since_ms` also the files that have changed since. */
    brief: (ref: GuestRef, query: GuestBriefQuery, { signal }: CallOptions = {}) =>
      callJson(ref, guestRoutes.brief, GuestBrief, { query, signal }, maxBriefBytes),

    /** Aborting the signal kills the command. */
    exec: (ref: GuestRef, command: z.input<typeof GuestExec>, { signal }: CallOptions = {}) => {
      const timeoutMs = (command.timeout_ms ?? 60_000) + execGraceMs
      const request = { body: encodeJson(command), timeoutMs, signal }
      return callJson(ref, guestRoutes.exec, GuestExecResult, request, maxExecBytes)
    },

    listFiles: (
      ref: GuestRef,
      query: PathQuery<typeof GuestListQuery>,
      { signal }: CallOptions = {},
    ) => callJson(ref, guestRoutes.listFiles, GuestFileList, { query, signal }, maxListBytes),

    /** The caller reads the stream to its end or destroys it. It fails if the file is cut short. */
    readFile: (
      ref: GuestRef,
      query: PathQuery<typeof GuestReadQuery>,
      { signal }: CallOptions = {},
    ): Promise<GuestFile<{ readonly stream: Readable }>> => {
      const request = { query, signal, streams: true, timeoutMs: streamSilenceMs }
      return call(ref, guestRoutes.readFile, request, async (answer) => ({
        ...parseFileHeaders(answer),
        stream: streamBody(answer),
      }))
    },

    readFileBytes: (
      ref: GuestRef,
      query: PathQuery<typeof GuestReadQuery> & { readonly length: number },
      { signal }: CallOptions = {},
    ): Promise<GuestFile<{ readonly bytes: Buffer }>> =>
      call(ref, guestRoutes.readFile, { query, signal }, async (answer) => ({
        ...parseFileHeaders(answer),
        bytes: await useBody(answer, query.length, (bytes) => bytes),
      })),

    /** A refused stream is left partly read; the caller disposes of it. */
    writeFile: (
      ref: GuestRef,
      query: PathQuery<typeof GuestWriteQuery>,
      body: Buffer | Readable,
      { signal }: CallOptions = {},
    ) => {
      const limit = { streams: true, timeoutMs: streamSilenceMs }
      const request = { query, body, contentType: 'application/octet-stream', signal, ...limit }
      return callJson(ref, guestRoutes.writeFile, WrittenFile, request)
    },

    /** The caller reads the archive to its end or destroys it. It fails if it is cut short. */
    readArchive: (
      ref: GuestRef,
      query: PathQuery<typeof GuestArchiveQuery>,
      { signal }: CallOptions = {},
    ): Promise<Readable> => {
      const request = { query, signal, streams: true, timeoutMs: streamSilenceMs }
      return call(ref, guestRoutes.readArchive, request, async (answer) => streamBody(answer))
    },

    /** A refused archive is left partly read; the caller disposes of it. */
    writeArchive: (
      ref: GuestRef,
      query: PathQuery<typeof GuestArchiveQuery>,
      body: Readable,
      { signal }: CallOptions = {},
    ) => {
      const limit = { streams: true, timeoutMs: streamSilenceMs }
      const request = { query, body, contentType: 'application/x-tar', signal, ...limit }
      return callJson(ref, guestRoutes.writeArchive, GuestWrittenArchive, request)
    },

    /** Aborting the signal stops a recursive deletion halfway. */
    async deleteFile(
      ref: GuestRef,
      query: PathQuery<typeof GuestDeleteQuery>,
      { signal }: CallOptions = {},
    ) {
      const request = { query, signal, timeoutMs: deleteTimeoutMs }
      await callJson(ref, guestRoutes.deleteFile, z.object({}), request)
    },

    moveFile: (ref: GuestRef, move: z.input<typeof GuestMove>, { signal }: CallOptions = {}) =>
      callJson(ref, guestRoutes.moveFile, GuestMovedFile, { body: encodeJson(move), signal }),

    /** Resolves when the machine's writes are on its disk; GuestUnavailable if it does not answer. */
    async flush(
      ref: GuestRef,
      { signal, timeoutMs = answerTimeoutMs }: CallOptions & { readonly timeoutMs?: number } = {},
    ) {
      const message = `the machine did not flush its disk in ${timeoutMs} ms`
      const late = new AbortController()
      // The time to open a channel counts too.
      const endLimit = startTimeLimit(timeoutMs, () => {
        late.abort(new GuestUnavailable(message, { sent: true }))
      })
      const either = signal ? AbortSignal.any([signal, late.signal]) : late.signal
      try {
        await callJson(ref, guestRoutes.flush, z.object({}), { signal: either })
      } finally {
        endLimit()
      }
    },

    usage: (ref: GuestRef, { signal }: CallOptions = {}) =>
      callJson(ref, guestRoutes.usage, GuestUsage, { signal }),

    ...terminalCalls(callJson),
    ...processCalls(callJson),
    ...secretCalls(callJson),

    [Symbol.asyncDispose]: () => channels[Symbol.asyncDispose](),
  }
}

type PathQuery<S extends z.ZodType> = Partial<z.output<S>> & { readonly path: string }

function tooLongToHold(): GuestRefusal {
  const message =
    'the image is longer than 16 MiB: ask for its bytes with accept: image/*, or for a jpeg'
  return new GuestRefusal({ code: 'unsupported_operation', message })
}

function encodeJson(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value))
}
