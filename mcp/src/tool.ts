import type { Permission } from '@computer/sdk'
import type { CallToolResult } from '@modelcontextprotocol/server'
import type { z } from 'zod'
import type { Connection } from './connection.ts'

/** The effects of a tool, as tool annotations of the protocol. */
type Annotations = {
  readonly readOnlyHint: boolean
  readonly destructiveHint: boolean
  readonly idempotentHint: boolean
  readonly openWorldHint: boolean
}

/** Changes nothing: offered in read-only mode. */
export const readOnly: Annotations = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
}
export const mutating: Annotations = { ...readOnly, readOnlyHint: false, idempotentHint: false }
/** May lose data that cannot be recovered. */
export const destructive: Annotations = { ...mutating, destructiveHint: true }

type Content = CallToolResult['content'][number]
export type ToolResult = string | readonly Content[]
export type ToolCall = {
  readonly connection: Connection
  /** By performance.now: the model had chosen it by then. */
  readonly arrivedAtMs: number
  /** Aborted when the client cancels the call. */
  readonly signal: AbortSignal
}

export type Tool = {
  readonly name: string
  readonly title: string
  /** For the model: what the tool does, when to use it, and the alternatives. */
  readonly description: string
  readonly input: z.ZodObject
  readonly annotations: Annotations
  /** The permission without which the tool is not offered. Default, unless it only reads: machines:control. */
  readonly requires?: Permission
  readonly run: (call: ToolCall, input: never) => Promise<ToolResult>
}

/** Infers the input type of `run` from the schema. */
export function tool<Input extends z.ZodObject>(
  definition: Omit<Tool, 'input' | 'run'> & {
    readonly input: Input
    readonly run: (call: ToolCall, input: z.output<Input>) => Promise<ToolResult>
  },
): Tool {
  return definition
}
