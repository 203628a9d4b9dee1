import type { Machine } from '@computer/sdk'
import { z } from 'zod'
import { ToolError } from './tool-error.ts'
import type { ToolCall } from './tool.ts'

/** The input field by which tools name a snapshot. */
export const snapshot = z
  .string()
  .min(1)
  .max(255)
  .describe('Name or ID (snp_…) of a snapshot of the machine, as listed by get_machine.')

/** The ID of a snapshot. Several of a machine may bear one name. */
export async function findSnapshot(
  { signal }: ToolCall,
  { name, snapshots }: Machine,
  ref: string,
): Promise<string> {
  if (/^snp_[0-9a-z]{20,32}$/.test(ref)) return ref
  const found: string[] = []
  for await (const one of snapshots.list({ limit: 100, signal })) {
    if (one.name === ref) found.push(one.id)
  }
  const [id, ...others] = found
  if (id === undefined)
    throw new ToolError(`${name} has no snapshot "${ref}". get_machine lists its snapshots.`)
  if (others.length === 0) return id
  throw new ToolError(
    `Several snapshots are named "${ref}". Use one of the IDs ${found.join(', ')}.`,
  )
}
