import type Anthropic from '@anthropic-ai/sdk'
import type OpenAI from 'openai'
import type { anthropicComputerTool } from '../../src/adapters/anthropic.ts'
import type { openAiComputerTool } from '../../src/adapters/openai.ts'

/* Compiles if the adapters fit the vendors' packages. */

type AnthropicComputer = Awaited<ReturnType<typeof anthropicComputerTool>>
type OpenAiComputer = Awaited<ReturnType<typeof openAiComputerTool>>

export function defineAnthropic({ tool }: AnthropicComputer): Anthropic.Beta.BetaToolUnion {
  return tool
}

export async function answerAnthropic(
  { execute }: AnthropicComputer,
  block: Anthropic.Beta.BetaToolUseBlock,
): Promise<Anthropic.Beta.BetaContentBlockParam> {
  return execute(block)
}

export function defineOpenAi({ tool }: OpenAiComputer): OpenAI.Responses.Tool {
  return tool
}

export async function answerOpenAi(
  { execute }: OpenAiComputer,
  call: OpenAI.Responses.ResponseComputerToolCall,
): Promise<OpenAI.Responses.ResponseInput> {
  return execute(call)
}
