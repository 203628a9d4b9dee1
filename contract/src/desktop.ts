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
  ScreenshotFormat,
  ScrollBody,
  TypeBody,
} from './desktop-actions.ts'
import { endpoint } from './endpoint.ts'
import { MachineId, SessionId } from './ids.ts'

export const Screenshot = z
  .object({
    image: z.string().describe('Base64.'),
    format: ScreenshotFormat,
    display: z.object({ width: z.int(), height: z.int() }),
  })
  .meta({ id: 'Screenshot' })

export const Clipboard = z
  .object({ text: z.string(), selection: ClipboardSelection })
  .meta({ id: 'Clipboard' })

const params = z.object({ machine_id: MachineId })

/** How an input call names its grant (wire, Sessions and the input lease). */
export const GrantHeaders = z.object({
  'x-session-id': SessionId.optional().describe(
    "The session that holds the lease. Default: the holder's, if the same key or user opened it.",
  ),
  'x-input-fence': z.coerce
    .number()
    .int()
    .min(0)
    .optional()
    .describe('Refuse the call unless the lease is still at this fence.'),
})

/** An input route: it needs the input lease and answers an empty object. */
function input<const Path extends string, Body extends z.ZodType>(
  path: Path,
  summary: string,
  body: Body,
) {
  return endpoint({
    method: 'POST',
    path: `/v1/machines/{machine_id}/${path}`,
    summary: `${summary} Needs the input lease.`,
    requires: 'machines:control',
    params,
    headers: GrantHeaders,
    body,
    status: 200,
    response: z.object({}),
  })
}

export const desktop = {
  display: endpoint({
    method: 'GET',
    path: '/v1/machines/{machine_id}/display',
    summary: 'The geometry of the display. compute_unavailable until the desktop is up.',
    requires: 'member',
    params,
    status: 200,
    response: Display,
  }),
  resize: endpoint({
    method: 'POST',
    path: '/v1/machines/{machine_id}/display/resize',
    summary: 'Change the geometry of the display. Needs the input lease.',
    requires: 'machines:control',
    params,
    headers: GrantHeaders,
    body: ResizeBody,
    status: 200,
    response: Display,
  }),
  screenshot: endpoint({
    method: 'GET',
    path: '/v1/machines/{machine_id}/screenshot',
    summary: 'What the display shows. With accept: image/*, the bytes themselves.',
    requires: 'member',
    params,
    query: z.strictObject({
      format: ScreenshotFormat.default('png'),
      quality: z.coerce
        .number()
        .int()
        .min(1)
        .max(100)
        .default(80)
        .describe('Of the lossy formats, jpeg and webp.'),
    }),
    status: 200,
    response: Screenshot,
    bytes: 'image/*',
  }),
  move: input('mouse/move', 'Move the pointer.', MoveBody),
  click: input('mouse/click', 'Press and release a button, or one of the two.', ClickBody),
  drag: input('mouse/drag', 'Drag with a button held.', DragBody),
  scroll: input('mouse/scroll', 'Turn the wheel.', ScrollBody),
  type: input('keyboard/type', 'Type text, any Unicode.', TypeBody),
  key: input('keyboard/key', 'Press one key by name.', KeyBody),
  hotkey: input('keyboard/hotkey', 'Press a key combination.', HotkeyBody),
  readClipboard: endpoint({
    method: 'GET',
    path: '/v1/machines/{machine_id}/clipboard',
    summary: 'Read a selection.',
    requires: 'member',
    params,
    query: z.strictObject({ selection: ClipboardSelection.default('clipboard') }),
    status: 200,
    response: Clipboard,
  }),
  writeClipboard: endpoint({
    method: 'PUT',
    path: '/v1/machines/{machine_id}/clipboard',
    summary: 'Put text into a selection. Needs the input lease.',
    requires: 'machines:control',
    params,
    headers: GrantHeaders,
    body: ClipboardBody,
    status: 200,
    response: Clipboard,
  }),
}
