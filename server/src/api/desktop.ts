import {
  ScreenshotFormat,
  thenSettleMs,
  type desktop,
  type GuestAction,
  type MachineId,
  type SessionId,
} from '@computer/contract'
import { buffer } from 'node:stream/consumers'
import type { Actor } from '../actor.ts'
import type { App } from '../app.ts'
import { sendInput } from '../domain/control/input.ts'
import {
  getDisplay,
  openScreenshot,
  readClipboard,
  takeScreenshot,
  waitForScreen,
} from '../domain/control/looks.ts'
import { ApiError } from '../errors.ts'
import { etagOf, isNamed } from './etag.ts'
import { exactLength } from './exact-length.ts'
import { BytesResponse, type Input, type Routes } from './route.ts'

/** The parts of an input call besides its action. */
type InputCall = {
  readonly params: { readonly machine_id: MachineId }
  readonly headers: {
    readonly 'x-session-id'?: SessionId | undefined
    readonly 'x-input-fence'?: number | undefined
    readonly 'x-if-screenshot'?: string | undefined
    readonly 'x-screen-tolerance'?: 'strict' | undefined
  }
  readonly signal: AbortSignal
}

/** Responses of this length need no reservation of memory (http/responses.ts). */
const maxTaggedBytes = 64 * 1024

const screenshotFormats = ScreenshotFormat.options
const contentTypes: Record<ScreenshotFormat, string> = {
  png: 'image/png',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
}

export function desktopRoutes(app: Pick<App, 'db' | 'guests'>): Routes<typeof desktop> {
  const act = async (actor: Actor, input: InputCall, action: GuestAction) => {
    const { params, headers, signal } = input
    const grant = { sessionId: headers['x-session-id'], fence: headers['x-input-fence'] }
    const screenshot = headers['x-if-screenshot']
    const strict = headers['x-screen-tolerance'] === 'strict'
    const seen = screenshot === undefined ? undefined : { screenshot, strict }
    return sendInput(app, actor, params.machine_id, grant, { action, seen }, signal)
  }
  /** Sends input whose result is not part of the response. */
  const send = async (actor: Actor, input: InputCall & ThenQuery, action: GuestAction) => {
    await act(actor, input, action)
    if (input.query.then === undefined) return {}
    return { screenshot: await shootAfter(app, actor, input) }
  }
  return {
    display: (actor, { params }) => getDisplay(app, actor, params.machine_id),
    resize: async (actor, input) => {
      const { display } = await act(actor, input, { type: 'resize', ...input.body })
      if (!display)
        throw new ApiError('internal_error', 'the agent did not report the new size of the display')
      return display
    },
    screenshot: async (actor, { params, query, headers, accept, wantsBytes, signal }) => {
      const { machine_id: id } = params
      const format = query.format ?? formatOf(accept)
      if (!wantsBytes) return shoot(app, actor, id, { ...query, format }, signal)
      const shot = await openScreenshot(app, actor, id, { ...query, format }, { signal })
      return respond(shot, contentTypes[format], headers['if-none-match'])
    },
    waitForScreen: (actor, { params, query, signal }) =>
      waitForScreen(app, actor, params.machine_id, query, { signal }),
    move: (actor, input) => send(actor, input, { type: 'move', ...input.body }),
    click: (actor, input) => send(actor, input, { type: 'click', ...input.body }),
    drag: (actor, input) => send(actor, input, { type: 'drag', ...input.body }),
    scroll: (actor, input) => send(actor, input, { type: 'scroll', ...input.body }),
    type: (actor, input) => send(actor, input, { type: 'type', ...input.body }),
    key: (actor, input) => send(actor, input, { type: 'key', ...input.body }),
    hotkey: (actor, input) => send(actor, input, { type: 'hotkey', ...input.body }),
    readClipboard: (actor, { params, query }) =>
      readClipboard(app, actor, params.machine_id, query),
    writeClipboard: async (actor, input) => {
      await act(actor, input, { type: 'write_clipboard', ...input.body })
      return input.body
    },
  }
}

type Guests = Pick<App, 'db' | 'guests'>
type ScreenshotQuery = Input<typeof desktop.screenshot>['query']
type ThenQuery = { readonly query: Input<typeof desktop.click>['query'] }

async function shoot(
  app: Guests,
  actor: Actor,
  id: MachineId,
  query: ScreenshotQuery & { readonly format: ScreenshotFormat },
  signal: AbortSignal,
) {
  const { bytes, ...shot } = await takeScreenshot(app, actor, id, query, { signal })
  return { image: bytes.toString('base64'), format: query.format, ...shot }
}

/** A short image gets an ETag, which takes the whole of it; a long one is streamed. */
async function respond(
  shot: Awaited<ReturnType<typeof openScreenshot>>,
  contentType: string,
  ifNoneMatch: string | undefined,
): Promise<BytesResponse> {
  const { id, width, height, display, settled, changing, size } = shot
  const headers = {
    ...(id !== null && { 'x-screenshot-id': id }),
    'x-image-width': width,
    'x-image-height': height,
    'x-display-width': display.width,
    'x-display-height': display.height,
    ...(settled !== null && { 'x-screenshot-settled': String(settled) }),
    ...(changing && { 'x-screenshot-changing': Object.values(changing).join() }),
  }
  const whole = { ...headers, 'content-type': contentType, 'content-length': size }
  const stream = exactLength(shot.stream, size)
  if (size > maxTaggedBytes) return new BytesResponse(stream, whole)
  const image = await buffer(stream)
  const etag = etagOf(image)
  if (isNamed(ifNoneMatch, etag)) return new BytesResponse(undefined, { ...headers, etag }, 304)
  return new BytesResponse(image, { ...whole, etag })
}

/** The input has been performed, so a screenshot that fails must not make the call fail. */
async function shootAfter(app: Guests, actor: Actor, input: InputCall & ThenQuery) {
  const { then: _, format = 'png', settle_ms = thenSettleMs, ...query } = input.query
  const options = { ...query, format, settle_ms }
  return shoot(app, actor, input.params.machine_id, options, input.signal).catch(
    (error: unknown) => {
      if (error instanceof ApiError) return null
      throw error
    },
  )
}

/** Of the images that a client accepts, the first; png if it accepts any. */
function formatOf(accept: string): ScreenshotFormat {
  const [first] = accept.split(/[,;]/, 1)
  return screenshotFormats.find((format) => contentTypes[format] === first?.trim()) ?? 'png'
}
