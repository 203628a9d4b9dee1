import type { Machine } from '@computer/sdk'
import { z } from 'zod'
import { ToolError } from './tool-error.ts'
import type { ToolCall } from './tool.ts'

/** The input field by which every tool names its machine. */
export const machine = z.string().min(1).max(63).describe('Name or ID (mch_…) of the machine.')

export async function findMachine({ connection, signal }: ToolCall, ref: string): Promise<Machine> {
  const { machines } = connection.computer
  if (/^mch_[0-9a-z]{20,32}$/.test(ref)) return machines.get(ref, { signal })
  const { data } = await machines.list({ name: ref, limit: 1, signal })
  if (data[0]) return data[0]
  throw new ToolError(`There is no machine named "${ref}". list_machines lists all machines.`)
}
