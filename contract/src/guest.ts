import { z } from 'zod'
import { ErrorCode } from './errors.ts'
import { ExecBody, ExecResult } from './exec.ts'

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

export const GuestExec = ExecBody
const execOutput = z.string().max(1024 * 1024)
export const GuestExecResult = ExecResult.extend({ stdout: execOutput, stderr: execOutput })

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
    reason: z
      .enum(['fence_stale', 'fence_unknown', 'desktop_down', 'screen_stale', 'screen_private'])
      .optional(),
  }),
})
export type GuestError = z.infer<typeof GuestError>
