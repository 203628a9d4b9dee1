import type {
  desktop,
  GuestAction,
  MachineId,
  ScreenshotFormat,
  SessionId,
} from '@computer/contract'
import type { Actor } from '../actor.ts'
import type { App } from '../app.ts'
import { sendInput } from '../domain/control/input.ts'
import {
  getDisplay,
  openScreenshot,
  readClipboard,
  takeScreenshot,
} from '../domain/guests/desktop.ts'
import { ApiError } from '../errors.ts'
import { exactLength } from './exact-length.ts'
import { BytesResponse, type Routes } from './route.ts'

/** The parts of an input call besides its action. */
type InputCall = {
  readonly params: { readonly machine_id: MachineId }
  readonly headers: {
    readonly 'x-session-id'?: SessionId | undefined
    readonly 'x-input-fence'?: number | undefined
  }
  readonly signal: AbortSignal
}

const contentTypes: Record<ScreenshotFormat, string> = {
  png: 'image/png',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
}

export function desktopRoutes(app: Pick<App, 'db' | 'guests'>): Routes<typeof desktop> {
  const act = async (actor: Actor, input: InputCall, action: GuestAction) => {
    const { params, headers, signal } = input
    const grant = { sessionId: headers['x-session-id'], fence: headers['x-input-fence'] }
    return sendInput(app, actor, params.machine_id, grant, action, signal)
  }
  /** Sends input whose result is not part of the response. */
  const send = async (actor: Actor, input: InputCall, action: GuestAction) => {
    await act(actor, input, action)
    return {}
  }
  return {
    display: (actor, { params }) => getDisplay(app, actor, params.machine_id),
    resize: async (actor, input) => {
      const { display } = await act(actor, input, { type: 'resize', ...input.body })
      if (!display)
        throw new ApiError('internal_error', 'the agent did not report the new size of the display')
      return display
    },
    screenshot: async (actor, { params, query, wantsBytes, signal }) => {
      const machineId = params.machine_id
      if (wantsBytes) {
        const shot = await openScreenshot(app, actor, machineId, query, { signal })
        return new BytesResponse(exactLength(shot.stream, shot.size), {
          'content-length': shot.size,
          'content-type': contentTypes[query.format],
          'x-display-width': shot.width,
          'x-display-height': shot.height,
        })
      }
      const shot = await takeScreenshot(app, actor, machineId, query, { signal })
      const { width, height, bytes } = shot
      const image = bytes.toString('base64')
      return { image, format: query.format, display: { width, height } }
    },
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
