import { z } from 'zod'
import { ToolError } from './tool-error.ts'
import type { ToolCall } from './tool.ts'

/** The input field by which tools name a template. */
export const template = z
  .string()
  .min(1)
  .max(255)
  .describe('Name or ID (tpl_…) of a template, as listed by list_templates.')

/** The ID of a template. */
export async function findTemplate({ connection, signal }: ToolCall, ref: string): Promise<string> {
  if (/^tpl_[0-9a-z]{20,32}$/.test(ref)) return ref
  const { data } = await connection.computer.templates.list({ name: ref, limit: 1, signal })
  if (data[0]) return data[0].id
  throw new ToolError(`There is no template named "${ref}". list_templates lists all templates.`)
}
