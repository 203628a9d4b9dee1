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
import { ErrorCode } from './errors.ts'
import { ExecBody, ExecResult } from './exec.ts'
import { DirectoryEntry, MovedFile, MoveFileBody } from './files.ts'
import { guestProcessRoutes } from './guest-processes.ts'
import { guestSecretRoutes } from './guest-secrets.ts'
import { guestTerminalRoutes } from './guest-terminals.ts'

/**
 * What the server and the agent inside a machine say to each other: HTTP/2 without TLS over the
 * guest channel, to the agent's unix socket. Only the server can reach it, so it carries no
 * credential. JSON both ways unless a route says bytes.
 *
 * The fence. The agent remembers the highest fence it was told, and at which one the holding that it
 * belongs to began. Every input names its fence: one from before the holding is refused
 * (`fence_stale`), and so is one that the agent was not told yet (`fence_unknown`): it has just
 * started, and the server tells it the current one and tries again. POST /fence for another holding
 * answers only when nothing of an earlier one can reach the display any more: its work in progress is
 * broken off and what it holds pressed is released. Within a holding it is a renewal: what was granted
 * before it stays as good (docs/decisions/0009).
 */
export const guestRoutes = {
  health: { method: 'GET', path: '/health' },
  identity: { method: 'POST', path: '/identity' },
  fence: { method: 'POST', path: '/fence' },
  display: { method: 'GET', path: '/display' },
  /** Bytes of the image; geometry in x-display-width and x-display-height. */
  screenshot: { method: 'GET', path: '/screenshot' },
  input: { method: 'POST', path: '/input' },
  readClipboard: { method: 'GET', path: '/clipboard' },
  exec: { method: 'POST', path: '/exec' },
  listFiles: { method: 'GET', path: '/files' },
  /** Bytes; the file's size in x-file-size, its absolute path (URI-encoded) in x-file-path. */
  readFile: { method: 'GET', path: '/files/content' },
  /** Bytes in, WrittenFile out. */
  writeFile: { method: 'PUT', path: '/files/content' },
  deleteFile: { method: 'DELETE', path: '/files' },
  moveFile: { method: 'POST', path: '/files/move' },
  usage: { method: 'GET', path: '/usage' },
  /** Answers when everything written so far is on the disk. */
  flush: { method: 'POST', path: '/flush' },
  ...guestTerminalRoutes,
  ...guestProcessRoutes,
  ...guestSecretRoutes,
} as const

/** Where the agent listens, inside the machine. */
export const guestSocketPath = '/run/computer/agent.sock'
/** Where the host mounts the agent, read-only, inside the machine. */
export const guestMountPath = '/opt/computer'

export const GuestHealth = z.object({
  version: z.string(),
  boot_id: z.string(),
  /** Null until the agent is told one after its start. */
  fence: z.int().nullable(),
})
export type GuestHealth = z.infer<typeof GuestHealth>

/**
 * Who the machine is. A disk that came from another machine's (a fork, a template) carries that one's
 * `machine`: the agent then makes the host's keys anew before it answers.
 */
export const GuestIdentity = z.strictObject({
  machine: z.string().regex(/^mch_[0-9a-z]{20,32}$/),
  hostname: z.string().min(1).max(63),
})
export type GuestIdentity = z.infer<typeof GuestIdentity>

export const GuestFence = z.strictObject({
  fence: z.int().min(0),
  /** The first fence of the present holding; of the release, where nobody holds the lease. */
  since: z.int().min(0),
})
export type GuestFence = z.infer<typeof GuestFence>

/** The answer to POST /fence: what the agent now holds, which may be higher than what it was told. */
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

export const GuestInput = z.strictObject({ fence: z.int().min(0), action: GuestAction })
export type GuestInput = z.infer<typeof GuestInput>

/** `display` answers a resize, an empty object everything else. */
export const GuestInputResult = z.object({ display: Display.optional() })

export const GuestScreenshotQuery = z.strictObject({
  format: ScreenshotFormat.default('png'),
  quality: z.coerce.number().int().min(1).max(100).default(80),
})
export const GuestClipboardQuery = z.strictObject({
  selection: ClipboardSelection.default('clipboard'),
})
export const GuestClipboard = z.object({ text: z.string() })

export const GuestExec = ExecBody
export const GuestExecResult = ExecResult

export const GuestListQuery = z.strictObject({
  path: z.string(),
  limit: z.coerce.number().int().min(1).max(100).default(25),
  /** `next` of the page before; pages are ordered by the bytes of the names. */
  after: z.base64url().optional(),
})
export const GuestFileList = z.object({
  path: z.string(),
  data: z.array(DirectoryEntry),
  /** The last name of the page, as base64url of its bytes; null on the last page. */
  next: z.base64url().nullable(),
})
export const GuestReadQuery = z.strictObject({
  path: z.string(),
  offset: z.coerce.number().int().min(0).default(0),
  /** Bytes; omitted: to the end of the file. */
  length: z.coerce.number().int().min(0).optional(),
})
export const GuestWriteQuery = z.strictObject({
  path: z.string(),
  append: z.enum(['true', 'false']).default('false'),
  create_parents: z.enum(['true', 'false']).default('true'),
  mode: z
    .string()
    .regex(/^0?[0-7]{3}$/)
    .optional(),
})

export const GuestDeleteQuery = z.strictObject({
  path: z.string(),
  recursive: z.enum(['true', 'false']).default('false'),
})
export const GuestMove = MoveFileBody
export const GuestMovedFile = MovedFile

export const GuestUsage = z.object({
  cpu_percent: z.number(),
  memory_used_mb: z.int(),
  /** Null where the kernel shows a pool and not this machine's part of it: the engine knows. */
  disk_used_bytes: z.int().nullable(),
  processes: z.int(),
})
export type GuestUsage = z.infer<typeof GuestUsage>

/** The agent's refusals. `reason` is set where the server acts on it. */
export const GuestError = z.object({
  error: z.object({
    code: ErrorCode,
    message: z.string(),
    reason: z.enum(['fence_stale', 'fence_unknown', 'desktop_down']).optional(),
  }),
})
export type GuestError = z.infer<typeof GuestError>
