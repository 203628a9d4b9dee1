import { z } from 'zod'
import { ProcessId } from './ids.ts'
import { Process, processes, ProcessSignal, ProcessStream, StartProcess } from './processes.ts'
import { untrustedArray } from './text.ts'

export const GuestStartProcess = StartProcess.extend({ id: ProcessId })
export type GuestStartProcess = z.infer<typeof GuestStartProcess>

export const GuestProcess = Process.extend({ command: untrustedArray(z.string(), 4096) })

/** Newest first, with their commands cut as in the API: 256 that run and 100 that have exited. */
export const GuestProcesses = z.object({ data: untrustedArray(GuestProcess, 400) })

export const GuestProcessQuery = processes.get.query.extend({ id: ProcessId })
export type GuestProcessQuery = z.infer<typeof GuestProcessQuery>

export const GuestLogQuery = processes.logs.query
  .omit({ encoding: true })
  .extend({ id: ProcessId, stream: ProcessStream })
export type GuestLogQuery = z.infer<typeof GuestLogQuery>

export const GuestLog = z.object({
  content: z.base64().max(6 * 1024 * 1024),
  /** The offset of `content`: later than requested if the older output was discarded. */
  offset: z.int().min(0),
  eof: z.boolean(),
})
export type GuestLog = z.infer<typeof GuestLog>

export const GuestProcessInput = z.strictObject({
  id: ProcessId,
  content: z.base64(),
  eof: z.boolean(),
})
export type GuestProcessInput = z.infer<typeof GuestProcessInput>

export const GuestProcessSignal = z.strictObject({ id: ProcessId, signal: ProcessSignal })
export type GuestProcessSignal = z.infer<typeof GuestProcessSignal>
