import { z } from 'zod'
import { text, untrustedArray } from './text.ts'

/* The agent's account of a machine before and after a person had it (help-requests.ts, HelpBrief). */

export const GuestBriefQuery = z.strictObject({
  /** With it the answer has the files that changed since this time of the machine's clock, in milliseconds. */
  since_ms: z.coerce.number().int().min(0).optional(),
})
export type GuestBriefQuery = z.infer<typeof GuestBriefQuery>

const Window = z.object({
  id: z.int().min(0),
  title: text(256),
  program: text(128),
})

export const GuestBrief = z.object({
  /** The machine's clock. */
  now_ms: z.number().min(0),
  windows: untrustedArray(Window, 200),
  /** Differs from an earlier one if the clipboard changed owners in between, or the desktop was restarted. */
  clipboard_mark: text(64),
  /** The newest first; without `since_ms` empty. */
  files: untrustedArray(z.object({ path: text(4096), size: z.number().min(0) }), 200),
  has_more_files: z.boolean(),
})
export type GuestBrief = z.infer<typeof GuestBrief>
