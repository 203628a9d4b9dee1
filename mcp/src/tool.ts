import type { CallToolResult } from '@modelcontextprotocol/server'
import type { z } from 'zod'
import type { Connection } from './connection.ts'

/** What a tool does to the world, as the protocol asks it to be said. */
export type Annotations = {
  readonly readOnlyHint: boolean
  readonly destructiveHint: boolean
  readonly idempotentHint: boolean
  readonly openWorldHint: boolean
}

/** Looks and changes nothing: offered in read-only mode. */
export const looks: Annotations = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
}
export const changes: Annotations = { ...looks, readOnlyHint: false, idempotentHint: false }
/** May lose what cannot be had again. */
export const destroys: Annotations = { ...changes, destructiveHint: true }

export type Content = CallToolResult['content'][number]
export type Answer = string | readonly Content[]
export type Call = {
  readonly connection: Connection
  /** The client no longer waits for the answer. */
  readonly signal: AbortSignal
}

export type Tool = {
  readonly name: string
  readonly title: string
  /** For a model: what it does, when to use it and, where that is the question, what else to use. */
  readonly description: string
  readonly input: z.ZodObject
  readonly annotations: Annotations
  readonly run: (call: Call, input: never) => Promise<Answer>
}

/** Ties the input that `run` takes to the schema. */
export function tool<Input extends z.ZodObject>(
  definition: Omit<Tool, 'input' | 'run'> & {
    readonly input: Input
    readonly run: (call: Call, input: z.output<Input>) => Promise<Answer>
  },
): Tool {
  return definition
}

/** Why a tool did not do what it was asked to, in words for a model. */
export class Refusal extends Error {
  override name = 'Refusal'
}
