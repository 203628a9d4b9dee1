import { z } from 'zod'
import {
  ClickBody,
  ClipboardBody,
  ClipboardSelection,
  Display,
  DragBody,
  HotkeyBody,
  KeyBody,
  MoveBody,
  ResizeBody,
  ScrollBody,
  TypeBody,
} from './desktop-actions.ts'
import { endpoint, largeBodyLimit } from './endpoint.ts'
import { MachineId, SessionId } from './ids.ts'
import {
  Screenshot,
  ScreenshotId,
  screenshotQuery,
  ScreenWait,
  ScreenWaitQuery,
  staleScreenField,
} from './screenshots.ts'
import { text } from './text.ts'

export const Clipboard = z
  .object({ text: z.string(), selection: ClipboardSelection })
  .meta({ id: 'Clipboard' })

const params = z.object({ machine_id: MachineId })

/** Headers that tie an input call to a lease grant (wire, Sessions and the input lease). */
const GrantHeaders = z.object({
  'x-session-id': SessionId.optional().describe(
    "The session that holds the lease. Default: the holder's, if the same API key or user opened it.",
  ),
  'x-input-fence': z.coerce
    .number()
    .int()
    .min(0)
    .optional()
    .describe(
      'Fail with conflict unless this fence belongs to the current holding of the lease: its holder was ' +
        'granted it, and has not lost the lease since. A renewal leaves earlier fences valid.',
    ),
})

/** Headers that tie input to what its caller saw. */
const InputHeaders = GrantHeaders.extend({
  [staleScreenField]: ScreenshotId.optional().describe(
    'The id of a screenshot. Fail with precondition_failed, and change nothing, if the display has another ' +
      'size by now, if the screen around the point has changed or, for the keyboard, if another window is ' +
      'active. The last 32 screens are known.',
  ),
  'x-screen-tolerance': z
    .literal('strict')
    .optional()
    .describe(
      'With x-if-screenshot: allow no difference in the 80×80 pixels around the point. Without it, a few ' +
        'that are not next to the point may differ, such as a clock.',
    ),
})

/** The default settle_ms of a `then=screenshot`: an input shows its effect within 150 ms. */
export const thenSettleMs = 200

const InputQuery = z.strictObject({
  // oxlint-disable-next-line unicorn/no-thenable -- a parameter of the URL, never awaited
  then: z
    .literal('screenshot')
    .optional()
    .describe(
      'Answer a screenshot that shows the effect of the input. The other parameters say how it is ' +
        `taken; settle_ms is ${thenSettleMs} by default.`,
    ),
  ...screenshotQuery,
})

/** An input route: requires the input lease and responds with an empty object, or a screenshot. */
function input<const Path extends string, Body extends z.ZodType>(
  path: Path,
  summary: string,
  body: Body,
) {
  return endpoint({
    method: 'POST',
    path: `/v1/machines/{machine_id}/${path}`,
    summary: `${summary} Requires the input lease.`,
    requires: 'machines:control',
    params,
    headers: InputHeaders,
    query: InputQuery,
    body,
    status: 200,
    response: z.object({
      screenshot: Screenshot.nullable()
        .optional()
        .describe(
          'With then=screenshot. Null if the input was performed and no screenshot could be taken.',
        ),
    }),
  })
}

export const desktop = {
  display: endpoint({
    method: 'GET',
    path: '/v1/machines/{machine_id}/display',
    summary: 'Get the size of the display. Fails with compute_unavailable until the desktop is up.',
    requires: 'member',
    params,
    status: 200,
    response: Display,
  }),
  resize: endpoint({
    method: 'POST',
    path: '/v1/machines/{machine_id}/display/resize',
    summary: 'Resize the display. Requires the input lease.',
    requires: 'machines:control',
    params,
    headers: InputHeaders,
    body: ResizeBody,
    status: 200,
    response: Display,
  }),
  screenshot: endpoint({
    method: 'GET',
    path: '/v1/machines/{machine_id}/screenshot',
    summary: 'Take a screenshot. With accept: image/*, the response body is the image itself.',
    requires: 'member',
    params,
    headers: z.object({
      'if-none-match': text(1024)
        .optional()
        .describe(
          'The etag of an earlier image. If the image would be the same, the response is 304 without a body.',
        ),
    }),
    query: z.strictObject(screenshotQuery),
    status: 200,
    response: Screenshot,
    bytes: 'image/*',
    bytesHeaders: {
      etag: 'Identifies the bytes of an image of at most 64 KiB, for if-none-match.',
      'x-screenshot-id': 'The id of the screen that it shows, for x-if-screenshot.',
      'x-image-width': 'The width of the image.',
      'x-image-height': 'The height of the image.',
      'x-display-width': 'The width of the display.',
      'x-display-height': 'The height of the display.',
      'x-screenshot-settled': 'With settle_ms: whether the screen came to rest in time.',
      'x-screenshot-changing':
        'The rectangle that still changed: x, y, width and height, separated by commas.',
    },
  }),
  waitForScreen: endpoint({
    method: 'GET',
    path: '/v1/machines/{machine_id}/screen/wait',
    summary:
      'Wait until the screen differs from a screenshot. Blinking text cursors and clocks count, unless they are ' +
      'outside of the region or ignored.',
    requires: 'member',
    params,
    query: ScreenWaitQuery,
    status: 200,
    response: ScreenWait,
  }),
  move: input('mouse/move', 'Move the pointer.', MoveBody),
  click: input('mouse/click', 'Click a mouse button, or only press or release it.', ClickBody),
  drag: input(
    'mouse/drag',
    'Drag: press a button, move the pointer and release the button.',
    DragBody,
  ),
  scroll: input('mouse/scroll', 'Scroll the mouse wheel.', ScrollBody),
  type: input('keyboard/type', 'Type text, which may hold any Unicode characters.', TypeBody),
  key: input('keyboard/key', 'Press a key by name, or only press or release it.', KeyBody),
  hotkey: input('keyboard/hotkey', 'Press a key combination.', HotkeyBody),
  readClipboard: endpoint({
    method: 'GET',
    path: '/v1/machines/{machine_id}/clipboard',
    summary: 'Read the clipboard or the primary selection.',
    requires: 'member',
    params,
    query: z.strictObject({ selection: ClipboardSelection.default('clipboard') }),
    status: 200,
    response: Clipboard,
  }),
  writeClipboard: endpoint({
    method: 'PUT',
    path: '/v1/machines/{machine_id}/clipboard',
    summary: 'Set the clipboard or the primary selection. Requires the input lease.',
    requires: 'machines:control',
    params,
    headers: GrantHeaders,
    body: ClipboardBody,
    bodyLimit: largeBodyLimit,
    status: 200,
    response: Clipboard,
  }),
}
