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
import { ErrorCode } from './errors.ts'
import { ExecBody, ExecResult } from './exec.ts'
import { DirectoryEntry, MovedFile, MoveFileBody, WrittenArchive } from './files.ts'
import { guestProcessRoutes } from './guest-processes.ts'
import { guestSecretRoutes } from './guest-secrets.ts'
import { guestTerminalRoutes } from './guest-terminals.ts'
import { screenshotQuery, ScreenshotFormat } from './screenshots.ts'
import { untrustedArray } from './text.ts'

/**
 * The protocol between the server and the agent inside a machine: HTTP/2 without TLS over the guest
 * channel, to the agent's unix socket. Only the server can reach the socket, so requests carry no
 * credential. Bodies are JSON unless a route says bytes.
 *
 * The fence. The agent stores the highest fence it has received, and the fence at which the present
 * holding of the input lease began. Every input carries its fence. The agent refuses a fence from
 * before the holding (`fence_stale`), and one higher than it knows (`fence_unknown`): it has just
 * started, and the server sends it the current fence and tries again. POST /fence for a new holding
 * responds only when no input of an earlier one can reach the display: the agent has aborted what
 * was running and released what was pressed. Within a holding it is a renewal, and earlier fences
 * of the holding stay valid (docs/decisions/0009).
 */
export const guestRoutes = {
  health: { method: 'GET', path: '/health' },
  identity: { method: 'POST', path: '/identity' },
  fence: { method: 'POST', path: '/fence' },
  display: { method: 'GET', path: '/display' },
  /**
   * Bytes of the image. Its size is in x-image-width and x-image-height, the display's in x-display-width
   * and x-display-height; x-settled is true or false after a wait, and x-changing x,y,width,height.
   */
  screenshot: { method: 'GET', path: '/screenshot' },
  input: { method: 'POST', path: '/input' },
  readClipboard: { method: 'GET', path: '/clipboard' },
  exec: { method: 'POST', path: '/exec' },
  listFiles: { method: 'GET', path: '/files' },
  /** Bytes; the file's size in x-file-size, its absolute path (URI-encoded) in x-file-path. */
  readFile: { method: 'GET', path: '/files/content' },
  /** Bytes in, WrittenFile out. */
  writeFile: { method: 'PUT', path: '/files/content' },
  /** An archive of the directory (tar.ts). */
  readArchive: { method: 'GET', path: '/files/archive' },
  /** An archive in, WrittenArchive out. */
  writeArchive: { method: 'PUT', path: '/files/archive' },
  deleteFile: { method: 'DELETE', path: '/files' },
  moveFile: { method: 'POST', path: '/files/move' },
  usage: { method: 'GET', path: '/usage' },
  /** Responds when everything written so far is on the disk. */
  flush: { method: 'POST', path: '/flush' },
  ...guestTerminalRoutes,
  ...guestProcessRoutes,
  ...guestSecretRoutes,
} as const

/** The agent's socket inside the machine. */
export const guestSocketPath = '/run/computer/agent.sock'
/** The agent's folder inside the machine, which the host mounts read-only. */
export const guestMountPath = '/opt/computer'

export const GuestHealth = z.object({
  version: z.string(),
  boot_id: z.string(),
  /** Null until the agent has received one since its start. */
  fence: z.int().nullable(),
})
export type GuestHealth = z.infer<typeof GuestHealth>

/**
 * The identity of the machine. A disk that was copied from another machine (a fork, a template)
 * still has that machine's id: the agent then renews the host keys before it responds.
 */
export const GuestIdentity = z.strictObject({
  machine: z.string().regex(/^mch_[0-9a-z]{20,32}$/),
  hostname: z.string().min(1).max(63),
})
export type GuestIdentity = z.infer<typeof GuestIdentity>

export const GuestFence = z.strictObject({
  fence: z.int().min(0),
  /** The first fence of the present holding, or of the release if the lease is not held. */
  since: z.int().min(0),
})
export type GuestFence = z.infer<typeof GuestFence>

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

export const GuestInput = z.strictObject({ fence: z.int().min(0), action: GuestAction })
export type GuestInput = z.infer<typeof GuestInput>

/** `display` is set after a resize. */
export const GuestInputResult = z.object({ display: Display.optional() })

export const GuestScreenshotQuery = z.strictObject({
  ...screenshotQuery,
  format: ScreenshotFormat.default('png'),
})
export type GuestScreenshotQuery = z.infer<typeof GuestScreenshotQuery>
export const GuestClipboardQuery = z.strictObject({
  selection: ClipboardSelection.default('clipboard'),
})
/** Of at most 12 MiB as UTF-8. */
export const GuestClipboard = z.object({ text: z.string().max(12 * 1024 * 1024) })

export const GuestExec = ExecBody
const execOutput = z.string().max(1024 * 1024)
export const GuestExecResult = ExecResult.extend({ stdout: execOutput, stderr: execOutput })

export const GuestListQuery = z.strictObject({
  path: z.string(),
  limit: z.coerce.number().int().min(1).max(100).default(25),
  /** The previous page's `next`. Pages are ordered by the bytes of the names. */
  after: z.base64url().optional(),
})
export const GuestFileList = z.object({
  path: z.string().max(4096),
  data: untrustedArray(DirectoryEntry, 100),
  /** The page's last name, as base64url of its bytes; null on the last page. */
  next: z.base64url().nullable(),
})
export const GuestReadQuery = z.strictObject({
  path: z.string(),
  offset: z.coerce.number().int().min(0).default(0),
  /** In bytes. Defaults to the rest of the file. */
  length: z.coerce.number().int().min(0).optional(),
})
export const GuestWriteQuery = z.strictObject({
  path: z.string(),
  append: z.enum(['true', 'false']).default('false'),
  create_parents: z.enum(['true', 'false']).default('true'),
  mode: z
    .string()
    .regex(/^[0-7]{3,4}$/)
    .optional(),
})
export const GuestArchiveQuery = z.strictObject({ path: z.string() })
export const GuestWrittenArchive = WrittenArchive.extend({
  path: z.string().max(4096),
  files: z.int().min(0),
  bytes: z.int().min(0),
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
  /** Null if the kernel reports the whole pool; the engine then knows this machine's share. */
  disk_used_bytes: z.int().nullable(),
  processes: z.int(),
})
export type GuestUsage = z.infer<typeof GuestUsage>

/** An error response of the agent. `reason` is set if the server acts on it. */
export const GuestError = z.object({
  error: z.object({
    code: ErrorCode,
    message: z.string(),
    reason: z.enum(['fence_stale', 'fence_unknown', 'desktop_down']).optional(),
  }),
})
export type GuestError = z.infer<typeof GuestError>
