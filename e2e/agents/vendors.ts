import type Anthropic from '@anthropic-ai/sdk'
import assert from 'node:assert/strict'
import type OpenAI from 'openai'
import { decode, type Seen, type Vendor } from './scripted-model.ts'

/* The part of the vendors' APIs that programs with the adapters use: requests and answers. */

type Action = Readonly<Record<string, unknown>>
const nothing: Seen = { picture: undefined, mistake: undefined }

/** The messages API with the computer-use tool. An action is the input of a `tool_use` block. */
export const anthropic: Vendor<Action> = {
  read: (request) => {
    const { messages, tools } = request as Anthropic.Beta.MessageCreateParamsNonStreaming
    const [tool] = tools ?? []
    assert.ok(tool?.type === 'computer_20251124')
    const [asked, answer] = messages.slice(-2)
    if (!answer) return nothing
    const [use] = asked!.content as [Anthropic.Beta.BetaToolUseBlockParam]
    const [result, ...rest] = answer.content as [Anthropic.Beta.BetaToolResultBlockParam]
    assert.deepEqual([answer.role, result.type, rest.length], ['user', 'tool_result', 0])
    assert.equal(result.tool_use_id, use.id)
    const [content, ...others] = result.content as [
      Anthropic.Beta.BetaTextBlockParam | Anthropic.Beta.BetaImageBlockParam,
    ]
    assert.equal(others.length, 0)
    if (content.type === 'text') {
      assert.equal(result.is_error, true)
      return { ...nothing, mistake: content.text }
    }
    // The API refuses errors with images.
    assert.equal(result.is_error, undefined)
    assert.ok(content.source.type === 'base64' && content.source.media_type === 'image/png')
    return see(content.source.data, [tool.display_width_px, tool.display_height_px])
  },
  write: (input, turn) => ({
    id: `msg_${turn}`,
    type: 'message',
    role: 'assistant',
    model: 'scripted',
    content: input
      ? [{ type: 'tool_use', id: `toolu_${turn}`, name: 'computer', input }]
      : [{ type: 'text', text: 'The form has been sent.' }],
    stop_reason: input ? 'tool_use' : 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 1, output_tokens: 1 },
  }),
}

/** The responses API with the tool `computer`. An action is the list of a call's actions. */
export const openai: Vendor<readonly Action[]> = {
  read: (request) => {
    const { input, tools } = request as OpenAI.Responses.ResponseCreateParamsNonStreaming
    assert.deepEqual(tools, [{ type: 'computer' }])
    if (typeof input === 'string') return nothing
    const [output, message, ...rest] = input as [
      OpenAI.Responses.ResponseInputItem.ComputerCallOutput,
      OpenAI.Responses.EasyInputMessage?,
    ]
    assert.deepEqual([output.type, rest.length], ['computer_call_output', 0])
    const [start, data] = output.output.image_url!.split(',')
    assert.equal(start, 'data:image/png;base64')
    return see(data!, undefined, message?.content as string | undefined)
  },
  write: (actions, turn) => ({
    id: `resp_${turn}`,
    object: 'response',
    status: 'completed',
    model: 'scripted',
    output: [actions ? computerCall(actions, turn) : lastMessage(turn)],
  }),
}

function computerCall(actions: readonly Action[], turn: number) {
  return {
    type: 'computer_call',
    id: `cu_${turn}`,
    call_id: `call_${turn}`,
    status: 'completed',
    pending_safety_checks: [],
    actions,
  }
}

function lastMessage(turn: number) {
  return {
    type: 'message',
    id: `msg_${turn}`,
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text: 'The form has been sent.', annotations: [] }],
  }
}

async function see(data: string, size?: readonly number[], mistake?: string): Promise<Seen> {
  const picture = await decode(data)
  if (size) assert.deepEqual([picture.width, picture.height], size)
  return { picture, mistake }
}
