import {
  GuestClipboard,
  GuestExecResult,
  GuestFileList,
  GuestLog,
  GuestProcess,
  GuestProcesses,
  GuestTerminal,
  GuestTerminals,
} from '@computer/contract'
import type { z } from 'zod'
import { parseJson } from './json.ts'

/** The answers that may be long. They are parsed in a thread of their own (parse-thread.ts). */
export const longAnswers = {
  clipboard: GuestClipboard,
  execResult: GuestExecResult,
  fileList: GuestFileList,
  processLog: GuestLog,
  process: GuestProcess,
  processes: GuestProcesses,
  terminal: GuestTerminal,
  terminals: GuestTerminals,
} as const satisfies Record<string, z.ZodType>
export type LongAnswer = keyof typeof longAnswers

/** The values in a full list: 400 processes with 64 arguments each. */
const maxValues = 50_000

/** Throws unless the body is JSON of the schema. */
export function parseBody<S extends z.ZodType>(schema: S, body: Buffer): z.output<S> {
  return schema.parse(body.length === 0 ? {} : parseJson(body, maxValues))
}
