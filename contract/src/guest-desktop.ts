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
import { SessionId } from './ids.ts'
import {
  screenshotQuery,
  ScreenshotFormat,
  ScreenshotId,
  ScreenWait,
  ScreenWaitQuery,
} from './screenshots.ts'

export const GuestFence = z.strictObject({
  fence: z.int().min(0),
  /** The first fence of the present holding, or of the release if the lease is not held. */
  since: z.int().min(0),
  /**
   * The session that alone may look at the screen and read the clipboard; null: nobody is kept from it. It changes
   * with the holding alone.
   */
  private_to: SessionId.nullable().default(null),
})
export type GuestFence = z.input<typeof GuestFence>

/** The response to POST /fence: the agent's fence, which may be higher than the one sent. */
export const GuestFenceState = z.object({ fence: z.int() })

export const GuestAction = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('move'), ...MoveBody.shape }),
  z.strictObject({ type: z.literal('click'), ...ClickBody.shape }),
  z.strictObject({ type: z.literal('drag'), ...DragBody.shape }),
  z.strictObject({ type: z.literal('scroll'), ...ScrollBody.shape }),
  z.strictObject({ type: z.literal('type'), ...TypeBody.shape }),
  z.strictObject({ type: z.literal('key'), ...KeyBody.shape }),
  z.strictObject({ type: z.literal('hotkey'), ...HotkeyBody.shape }),
  z.strictObject({ type: z.literal('resize'), ...ResizeBody.shape }),
  z.strictObject({ type: z.literal('write_clipboard'), ...ClipboardBody.shape }),
])
export type GuestAction = z.infer<typeof GuestAction>

/** The screenshot from which the caller chose the input. `strict` allows no difference around the point. */
export const GuestSeen = z.strictObject({
  screenshot: ScreenshotId,
  strict: z.boolean().default(false),
})
export type GuestSeen = z.infer<typeof GuestSeen>

/** With `seen`, precondition_failed refuses it if the screen has changed since. */
export const GuestInput = z.strictObject({
  fence: z.int().min(0),
  action: GuestAction,
  seen: GuestSeen.optional(),
})
export type GuestInput = z.infer<typeof GuestInput>

/** `display` is set after a resize. */
export const GuestInputResult = z.object({ display: Display.optional() })

/** The session for which a call looks at the screen or reads the clipboard, if it looks for one. */
const viewer = { viewer: SessionId.optional() }

export const GuestScreenshotQuery = z.strictObject({
  ...screenshotQuery,
  ...viewer,
  format: ScreenshotFormat.default('png'),
})
export type GuestScreenshotQuery = z.infer<typeof GuestScreenshotQuery>
/** In the region, and outside of what is to be ignored; text cursors and clocks count. */
export const GuestScreenWaitQuery = ScreenWaitQuery.extend(viewer)
export const GuestScreenWait = ScreenWait
export const GuestClipboardQuery = z.strictObject({
  ...viewer,
  selection: ClipboardSelection.default('clipboard'),
})
/** The query of a screen stream. */
export const GuestScreenQuery = z.strictObject(viewer)
/** The text has at most 12 MiB as UTF-8. */
export const GuestClipboard = z.object({ text: z.string().max(12 * 1024 * 1024) })
