import type { Machine } from '@computer/sdk'
import { z } from 'zod'
import type { ToolCall } from './tool.ts'

/** The input field by which every tool names its machine. */
export const machine = z.string().min(1).max(63).describe('Name or ID (mch_…) of the machine.')

export async function findMachine({ connection, signal }: ToolCall, ref: string): Promise<Machine> {
  return connection.computer.machines.get(ref, { signal })
}
